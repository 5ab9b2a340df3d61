/** Mistakes in the scripts: their text is changed on its way to the node. */
import { createHash } from 'node:crypto';
import type { Client, ScriptCall, ScriptText } from '../../../src/index.ts';
import * as SCRIPTS from '../../../src/scripts/generated.ts';
import type { Machine } from '../world/machine.ts';
import type { PlantedBug } from './bug.ts';

interface Change {
  /** Names of the scripts that are changed. */
  readonly scripts: readonly string[];
  readonly from: string | RegExp;
  readonly to: string;
  /** Arguments that are added to each call. */
  readonly more?: (machine: Machine) => readonly string[];
}

const changed = new Map<string, ScriptText>();

function change({ name, source, sha }: ScriptText, bug: string, { from, to }: Change): ScriptText {
  const key = `${bug} ${sha}`;
  const known = changed.get(key);
  if (known !== undefined) return known;
  const wrong = source.replace(from, to);
  // A script that was rewritten must not make a planted bug disappear without a word.
  if (wrong === source) throw new Error(`the bug ${bug} finds nothing to change in ${name}`);
  const text = { name, source: wrong, sha: createHash('sha1').update(wrong).digest('hex') };
  changed.set(key, text);
  return text;
}

/** A client that passes everything on, and some calls in another form. */
function altering(client: Client, alter: (call: ScriptCall) => ScriptCall): Client {
  const run: Client['run'] = (call, timeoutMs) => client.run(alter(call), timeoutMs);
  return new Proxy(client, {
    get: (target, property) => {
      if (property === 'run') return run;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const TEXTS: readonly ScriptText[] = Object.values(SCRIPTS).map(({ text }) => text);

export function luaBug(
  name: string,
  breaks: PlantedBug['breaks'],
  changes: readonly Change[],
  world: Pick<PlantedBug, 'faults' | 'terms' | 'nodes' | 'options'> = {},
): PlantedBug {
  // Said here: in a world an exception is one more fault.
  for (const part of changes)
    for (const text of TEXTS) if (part.scripts.includes(text.name)) change(text, name, part);
  return {
    name,
    breaks,
    ...world,
    client: (client, machine) =>
      altering(client, (call) => {
        const found = changes.find(({ scripts }) => scripts.includes(call.script.name));
        if (found === undefined) return call;
        const args = [...call.args, ...(found.more?.(machine) ?? [])];
        return { ...call, args, script: change(call.script, name, found) };
      }),
  };
}

/** Owners that outlive several of their leases. */
const LONG_WORK = { kind: 'lock', leasesMs: [200], worksMs: [50, 700], names: ['a'] } as const;

/** Leases that outlive every fault. */
const LONG_LEASES = { kind: 'lock', leasesMs: [30_000], worksMs: [5, 20] } as const;

/** Nobody keeps a lock unused: every round asks the node. */
const NO_LINGER = { lingersMs: [0], callerLingersMs: [null] } as const;

/** Owners that follow each other within fewer microseconds than a block has fences. */
const NEXT_DOOR = {
  kind: 'lock',
  names: ['a'],
  worksMs: [0],
  pausesMs: [0],
  network: () => ({ latenciesMs: [0.005], strayChance: 0, strayMsMax: 1 }),
} as const;

const SET_LEASE = /redis\.call\('PEXPIRE', lock, lease_ms\)/g;

export const LUA_BUGS: readonly PlantedBug[] = [
  luaBug(
    'release without compare',
    ['exclusion', 'counter', 'left', 'order'],
    [
      {
        scripts: ['lock.release'],
        from: "redis.pcall('HDEL', lock, holder)",
        to: "redis.pcall('DEL', lock)",
      },
      {
        scripts: ['mutex.release'],
        from: 'local was_owner = owner == token',
        to: 'local was_owner = owner ~= false',
      },
    ],
  ),
  luaBug(
    'renewal re-creates',
    ['exclusion', 'left', 'counter', 'order'],
    [
      {
        scripts: ['lock.renew'],
        from: /if mine == 1 then\n/,
        to: "if mine == 0 then mine = redis.pcall('HSET', lock, holder, '1') end\nif mine == 1 then\n",
      },
      {
        scripts: ['mutex.renew'],
        from: /if owner == token then\n/,
        to: "if not owner then redis.pcall('SET', mutex, token) owner = token end\nif owner == token then\n",
      },
    ],
    { faults: ['delete'], terms: LONG_WORK },
  ),
  luaBug(
    'renewal of a foreign lock',
    ['told', 'served', 'exclusion', 'left'],
    [
      {
        scripts: ['lock.renew'],
        from: "redis.pcall('HEXISTS', lock, holder)",
        to: "redis.pcall('EXISTS', lock)",
      },
      { scripts: ['mutex.renew'], from: 'if owner == token then', to: 'if owner then' },
    ],
    { faults: ['delete'], terms: LONG_WORK },
  ),
  luaBug(
    'fence block reused',
    ['fences'],
    [
      {
        scripts: ['lock.acquire'],
        from: 'local reply = store_counter(fence, text, last,',
        to: 'local reply = store_counter(fence, text, first,',
      },
    ],
    { faults: [], terms: { ...NEXT_DOOR, rounds: 60 }, options: { handovers: 64, handoverMs: 50 } },
  ),
  luaBug(
    'fence from the counter alone',
    ['fences'],
    [{ scripts: ['lock.acquire'], from: 'math.max(stored + 1, from_us)', to: 'stored + 1' }],
  ),
  luaBug(
    'fence from the clock alone',
    ['fences'],
    [
      {
        scripts: ['lock.acquire'],
        from: 'math.max(stored + 1, from_us)',
        to: 'math.floor(now_us / 1000000)',
      },
    ],
  ),
  luaBug(
    'client clock in a script',
    ['exclusion', 'counter', 'served', 'told', 'fences'],
    [
      {
        scripts: ['lock.acquire'],
        from: SET_LEASE,
        to: "redis.call('PEXPIREAT', lock, string.format('%.0f', tonumber(ARGV[#ARGV]) + tonumber(lease_ms)))",
        more: (machine) => [String(Math.floor(machine.wallMs()))],
      },
    ],
  ),
  luaBug(
    'lock without an expiry',
    ['left', 'served', 'exclusion', 'kept'],
    [
      { scripts: ['lock.acquire'], from: SET_LEASE, to: 'local _ = 1' },
      { scripts: ['mutex.acquire'], from: /'NX', 'PX', lease_ms/g, to: "'NX'" },
    ],
  ),
  luaBug(
    'acquire over another owner',
    ['exclusion', 'counter', 'fences', 'order'],
    [
      {
        scripts: ['lock.acquire'],
        from: 'local is_ours = field[1] == holder\n',
        to: 'local is_ours = field[1] == holder or ttl_ms < tonumber(lease_ms) / 2\n',
      },
      { scripts: ['mutex.acquire'], from: /'NX', 'PX', lease_ms/, to: "'PX', lease_ms" },
    ],
  ),
  luaBug(
    'late acquire granted',
    ['left'],
    [{ scripts: ['lock.acquire', 'mutex.acquire'], from: /if not_after_ms > 0[^\n]*\n/, to: '' }],
    {
      faults: ['stray', 'cut'],
      terms: { ...LONG_LEASES, ...NO_LINGER, pausesMs: [0, 1, 5], hasSubscriber: false, rounds: 60 },
      options: { callTimeoutMs: 100 },
    },
  ),
  luaBug(
    'release without a message',
    ['served'],
    [
      {
        scripts: ['lock.release', 'mutex.release'],
        from: /receivers = notify\(mode, channel, '0'\)/,
        to: 'receivers = 0',
      },
    ],
    // One server hands the lock on in the line.
    { nodes: 3 },
  ),
  luaBug(
    'repeated acquire with a fence of others',
    ['fences'],
    [
      {
        scripts: ['lock.acquire'],
        from: 'return last, 1',
        to: 'return last - 1, 1',
      },
    ],
    // Of a longer block the fence before the last is the hold's own.
    { options: { handovers: 0 } },
  ),
  luaBug(
    'counter expires while its fence is ahead',
    ['fences'],
    [
      {
        scripts: ['lock.acquire'],
        from: /local left_ms = [^\n]*\n[^\n]*\n[^\n]*'PXAT'[^\n]*/,
        to: "return redis.pcall('SET', fence, last, 'PX', ttl_ms)",
      },
      {
        scripts: ['lock.renew', 'lock.recount'],
        from: 'math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms',
        to: 'ttl_ms',
      },
    ],
    {
      faults: ['node jump back'],
      terms: { kind: 'lock', leasesMs: [200], worksMs: [0, 5, 20], pausesMs: [20, 300], names: ['a'] },
      options: { fenceTtlMs: 100 },
    },
  ),
];
