/**
 * Redis strings are bytes, and Lua's are too. Inside the embedded node a string holds one byte in each character,
 * which makes it a key of a `Map`, sorts it as Redis does and costs nothing for ASCII. Text is turned into bytes
 * and back only where it comes in and goes out.
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
