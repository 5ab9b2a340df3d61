/**
 * Strings of Redis and of Lua are bytes. Inside the embedded node a JavaScript string holds one byte in each character:
 * such strings work as keys of a `Map`, sort as in Redis, and are the text itself for ASCII. Text is converted where
 * requests arrive and where replies leave.
 */
import { Buffer } from 'node:buffer';

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** The UTF-8 bytes of a text. */
export function toBytes(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

/** The text that UTF-8 bytes stand for. */
export function toText(bytes: string): string {
  return BEYOND_ASCII.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}
