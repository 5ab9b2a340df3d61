/**
 * Reads the field `ca`: a file with the certificates of the authorities to trust for one receiver, in place of those that Node
 * knows. The file is read with the configuration, so that a wrong one is a mistake of the configuration and not an alert
 * that nobody gets.
 */
import { X509Certificate } from 'node:crypto';
import type { JsonFields } from './json-reader.ts';
import type { Secret, SecretReader } from './secret.ts';

/** Text that is no address and has one line: a key that was put here by mistake is not repeated in a message. */
const PATH = /^(?!.*:\/\/)[^\r\n]+$/;

/** `url` is where the certificates are for. Null: the field is not there, or it is wrong, which is reported. */
export function readAuthorities(fields: JsonFields, url: Secret, { file }: SecretReader): string | null {
  const value = fields.get('ca');
  const path = value?.asMatching(PATH, 'the path of a file with certificates in PEM form') ?? null;
  if (value === undefined || path === null) return null;
  if (new URL(url.reveal()).protocol === 'http:')
    return value.refuse('https:// in the URL with it', 'http://');
  let text: string;
  try {
    text = file(path);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return value.refuse(`a file ${path} that can be read (${code})`, 'none');
  }
  return isCertificate(text) ? text : value.refuse(`certificates in PEM form in ${path}`, 'something else');
}

function isCertificate(text: string): boolean {
  try {
    new X509Certificate(text);
    return true;
  } catch {
    return false;
  }
}
