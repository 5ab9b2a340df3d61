/**
 * The servers of the monitor by the user that may write: for actions, the audit trail and the state of alerts.
 *
 * In this folder: what `holdfast monitor` adds to the package of the monitor. Only `commands/monitor.ts` imports from
 * here.
 */
import { Failure } from '../failure.ts';
import { type Environment, listOf, parseAll, type ServerFlags } from '../servers/address.ts';
import { unopenedClients } from '../servers/unopened.ts';

type Clients = ReturnType<typeof unopenedClients>;

interface WriterFlags extends ServerFlags {
  readonly writer?: readonly string[];
}

const VARIABLE = 'HOLDFAST_MONITOR_WRITER_URL';

/** Null: nobody was named, and the user that reads writes too. A password can come from the environment, as the reader's can. */
export function writerClients(
  { writer, ...flags }: WriterFlags,
  reader: Clients,
  environment: Environment = process.env,
): Clients | null {
  const urls = writer ?? listOf(environment[VARIABLE]);
  const source = writer === undefined ? VARIABLE : '--writer';
  if (urls.length === 0) return null;
  if (flags.sentinel !== undefined)
    return unopenedClients(flags, sentinelLogin(urls, source, environment), source);
  const clients = unopenedClients({ ...flags, redis: urls }, environment, source);
  const [wanted, got] = [reader, clients].map((one) => [one].flat().length);
  if (wanted === got) return clients;
  throw new Failure('usage', `${source}: expected the same servers as those to watch, ${wanted}, got ${got}`);
}

/** Where the primary is the sentinels say, so that the URL is only for the login. */
function sentinelLogin(urls: readonly string[], source: string, environment: Environment): Environment {
  const [url, ...more] = parseAll(urls, source);
  const isLogin =
    url !== undefined &&
    more.length === 0 &&
    url.host === '' &&
    url.path === '' &&
    (url.username !== null || url.password !== null);
  if (!isLogin) {
    throw new Failure(
      'usage',
      `${source}: expected redis://user:password@ with --sentinel, without a host: the sentinels name it; got something else`,
    );
  }
  return {
    ...environment,
    HOLDFAST_REDIS_USERNAME: url.username ?? '',
    HOLDFAST_REDIS_PASSWORD: url.password ?? environment['HOLDFAST_REDIS_PASSWORD'] ?? '',
  };
}
