/** How callers get in where not everybody may: by TLS, or as a user with hardly any rights. */

import { makeGuardedFolder } from '../support/processes/process-guard.ts';
import { aclWords, BRACES, CONNECTING, LEAST, LOOKING, ONCE } from '../support/servers/acl-rules.ts';
import { makeCertificates } from '../support/servers/certificates.ts';
import { freePort } from '../support/servers/free-port.ts';

/** What a caller's client must be told beside the port. */
export interface Access {
  readonly username?: string;
  readonly password?: string;
  /** The certificate of the authority that signed the server's. */
  readonly ca?: string;
  /** The port of callers, when it is not the server's usual one. */
  readonly port?: number;
}

/** How a server keeps others out, and what gets a caller in. */
export interface Restriction {
  readonly access: Access;
  /** What the server must be told. */
  readonly serverArgs: readonly string[];
}

export type RestrictionKind = 'tls' | 'least rights';

export async function restrict(kind: RestrictionKind): Promise<Restriction> {
  return kind === 'tls' ? await byTls() : byAcl();
}

async function byTls(): Promise<Restriction> {
  const { ca, serverArgs } = makeCertificates(makeGuardedFolder('holdfast-tls-'));
  const port = await freePort();
  return { access: { ca, port }, serverArgs: ['--tls-port', String(port), ...serverArgs] };
}

function byAcl(): Restriction {
  const [username, password] = ['app', 'secret'];
  // The rules of the contract have the caller's own client answer a ping at times.
  const words = [...aclWords(LEAST, ONCE, LOOKING, BRACES, CONNECTING), '+ping'];
  return {
    access: { username, password },
    serverArgs: ['--user', username, 'on', `>${password}`, ...words],
  };
}
