/** What was said about TLS: which authorities to trust, and the certificate that we show. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { Failure } from '../failure.ts';
import { quote } from '../printable.ts';

export interface TlsFlags {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly insecure?: boolean;
}

/** The options of TLS under the names that Node has for them. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly rejectUnauthorized?: boolean;
}

/** The first of the options that were used; null when none was. */
export function usedTlsFlag({ ca, cert, key, insecure }: TlsFlags): string | null {
  const used = [ca && '--ca', cert && '--cert', key && '--key', insecure && '--insecure'];
  return used.find((flag) => typeof flag === 'string' && flag !== '') || null;
}

/** Reads the files, and refuses what is not what it should be, before anything is connected. */
export function readTlsOptions({ ca, cert, key, insecure }: TlsFlags): TlsOptions {
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert === undefined ? ['--key', '--cert'] : ['--cert', '--key'];
    throw new Failure('usage', `${given}: expected ${missing} with it, got none`);
  }
  const options: TlsOptions = {
    ...(ca === undefined ? {} : { ca: read('--ca', ca, isCertificate, 'certificates in PEM form') }),
    ...(cert === undefined ? {} : { cert: read('--cert', cert, isCertificate, 'a certificate in PEM form') }),
    ...(key === undefined
      ? {}
      : { key: read('--key', key, isKey, 'a private key in PEM form, not encrypted') }),
    ...(insecure === true ? { rejectUnauthorized: false } : {}),
  };
  try {
    createSecureContext(options);
  } catch {
    throw new Failure('usage', `--key: expected the key of the certificate in --cert, got another one`);
  }
  return options;
}

function read(flag: string, file: string, isRight: (text: string) => void, expected: string): string {
  const text = (() => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : '';
      const reason =
        code === 'ENOENT'
          ? 'there is no such file'
          : code === 'EACCES'
            ? 'this user may not read it'
            : 'it cannot be read';
      throw new Failure('usage', `${flag}: ${quote(file)}: ${reason}`);
    }
  })();
  try {
    isRight(text);
    return text;
  } catch {
    // The message leaves out what the file contains: it may be a private key.
    throw new Failure('usage', `${flag}: ${quote(file)}: expected ${expected}, got something else`);
  }
}

const isCertificate = (text: string): void => void new X509Certificate(text);
const isKey = (text: string): void => void createPrivateKey(text);
