/** Certificates for a server that speaks TLS: an authority of our own, and what it signed for `localhost`. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasTool, needs } from '../needs.ts';

export interface Certificates {
  /** The authority's own, as text: what a client must trust. */
  readonly ca: string;
  /** What a server of Node is told. */
  readonly server: { readonly key: string; readonly cert: string };
  /** What the server must be told, beside its port. */
  readonly serverArgs: readonly string[];
}

/** Whether there is what makes them. Ask it for the tests that need some. */
export function canMakeCertificates(): boolean {
  return needs('openssl', hasTool('openssl', 'version'), 'what speaks TLS');
}

const DAYS = ['-days', '2'];
const NEW_KEY = ['-newkey', 'rsa:2048', '-nodes'];

/** The files go into that folder. An authority and a server must be two: strict clients refuse one that is both. */
export function makeCertificates(folder: string): Certificates {
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' });
  const [caKey, ca] = [file('ca.key'), file('ca.pem')];
  const [key, request, certificate] = [file('server.key'), file('server.csr'), file('server.pem')];
  openssl('req', '-x509', ...NEW_KEY, ...DAYS, '-subj', '/CN=authority', '-keyout', caKey, '-out', ca);
  openssl('req', ...NEW_KEY, '-subj', '/CN=localhost', '-keyout', key, '-out', request);
  writeFileSync(file('names.cnf'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n');
  const signedBy = ['-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-extfile', file('names.cnf')];
  openssl('x509', '-req', ...DAYS, '-in', request, ...signedBy, '-out', certificate);
  return {
    ca: readFileSync(ca, 'utf8'),
    server: { key: readFileSync(key, 'utf8'), cert: readFileSync(certificate, 'utf8') },
    serverArgs: [
      ...['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', ca],
      ...['--tls-auth-clients', 'no'],
    ],
  };
}
