/** Why a server cannot be used: from the error of the client, and where that says too little from a probe. */
import type { ExitName } from '../exit-codes.ts';
import { oneLine } from '../failure.ts';
import type { ConnectOptions } from './address.ts';
import { probeServer, tlsRejection } from './probe.ts';

const NO_REDIS = 'what answers there is not a Redis server';
const NO_TLS = 'the server does not speak TLS: use redis:// in place of rediss://';
const ONLY_TLS = 'the server speaks TLS: use rediss:// in place of redis://';

/** What the client's error means, and the reason in words. `$` stands for the error, `#` for the limit in seconds. */
type Explanation = readonly [pattern: RegExp, exit: ExitName, reason: string];

const UNEXPLAINED: Explanation = [/$/, 'unreachable', '$'];

const EXPLANATIONS: readonly Explanation[] = [
  [/\bNOAUTH\b/, 'refused', 'the server asks for a password, and none was given'],
  [/\bWRONGPASS\b/, 'refused', 'the server refuses this user name and password'],
  [/\bNOPERM\b/, 'refused', 'the server refuses: $'],
  [/^ERR DB index/, 'usage', 'the server has no such database'],
  [/Unknown RESP type|Protocol error/i, 'protocol', NO_REDIS],
  [
    /alert (certificate required|bad certificate|unknown ca|handshake failure|certificate unknown)/i,
    'refused',
    'the server wants a certificate from us that it trusts: see --cert and --key',
  ],
  [
    /wrong version number|packet length too long|SSL routines/i,
    'protocol',
    'what answers there does not speak TLS',
  ],
  [
    /certificate|self.signed|altnames/i,
    'refused',
    'the certificate of the server is not trusted: $; see --ca, or --insecure for a trial',
  ],
  [/ECONNREFUSED/, 'unreachable', 'nothing listens there (connection refused)'],
  [/ENOTFOUND|EAI_AGAIN/, 'unreachable', 'the name of the host cannot be resolved'],
  [/EHOSTUNREACH|ENETUNREACH/, 'unreachable', 'there is no way to that host'],
  [/ENOENT/, 'unreachable', 'there is no such socket'],
  [/ETIMEDOUT|no answer within|Command timed out/, 'unreachable', 'no answer within # s'],
];

const CLOSED = /ECONNRESET|EPIPE|Connection is closed/;

/** What the client says where the other side may not be Redis, or speaks TLS where we do not. */
const MISMATCH =
  /ECONNRESET|EPIPE|Connection is closed|Unknown RESP type|Protocol error|ETIMEDOUT|no answer|timed out|wrong version|packet length|disconnected before secure/i;

/** The exit code for what the client said, and the reason in words. `limitMs` is how long it was given. */
export async function explainRefusal(
  cause: unknown,
  options: ConnectOptions,
  limitMs: number,
): Promise<{ exit: ExitName; reason: string }> {
  const first = oneLine(cause instanceof Error ? cause.message || cause.name : String(cause));
  const said = (await rejectionByTls(first, options)) || first;
  if (MISMATCH.test(said)) {
    const reason = await mismatch(options);
    if (reason !== null) return { exit: 'protocol', reason };
  }
  const [, exit, reason] = EXPLANATIONS.find(([pattern]) => pattern.test(said)) ?? UNEXPLAINED;
  const { username, password } = options;
  const hint =
    exit === 'refused' && username !== undefined && password === ''
      ? '; no password was given: it goes into the URL or into HOLDFAST_REDIS_PASSWORD'
      : '';
  return { exit, reason: reason.replace('#', String(limitMs / 1000)).replace('$', () => said) + hint };
}

/** Why a server with TLS closed the connection, where the client saw only that. Empty when it says nothing. */
async function rejectionByTls(said: string, { tls, host, port }: ConnectOptions): Promise<string> {
  if (tls === undefined || host === undefined || port === undefined) return '';
  return CLOSED.test(said) ? oneLine(await tlsRejection(host, port, tls)) : '';
}

/** Probes the address; null when that explains nothing. */
async function mismatch({ tls, host, port }: ConnectOptions): Promise<string | null> {
  if (host === undefined || port === undefined) return null;
  const found = await probeServer(host, port);
  if (tls !== undefined) return found === 'redis' ? NO_TLS : null;
  if (found === 'tls') return ONLY_TLS;
  return found === 'other' ? NO_REDIS : null;
}
