/** Makes a bundle: the text of a script that runs another script many times, made from the text of that script. */
import { BUNDLE_FAILED } from './outcome.ts';

export interface BundleShape {
  /** How long the head of the script is: shebang, outcomes and includes, which are there once. */
  readonly headLength: number;
  /** How many keys and arguments each call of the bundle has. */
  readonly keys: number;
  readonly args: number;
  /** Whether the script asks for the server's time. The time is the same for all calls, so the bundle asks once. */
  readonly isTimed: boolean;
  /** Which key of the script is the line of waiters, from 1; 0 for none. The bundle asks once which lines there are. */
  readonly line: number;
}

const ONE_TIME = `local bundle_ms, bundle_us = server_now()
local function server_now() return bundle_ms, bundle_us end
`;

/**
 * One EXISTS over all line keys, which usually finds that no name of the bundle has a line. The answer stays true while the
 * bundle runs: what one call does to its line does not touch the names of the other calls.
 */
const oneLook = (
  line: number,
): string => `local lines_found = redis.pcall('EXISTS', unpack(KEYS, ${line - 1} * count + 1, ${line} * count))
local has_this_line = has_line
local function has_line(line) return lines_found ~= 0 and has_this_line(line) end
`;

const keyOf = (key: number): string => `  keys[${key + 1}] = KEYS[${key} * count + i]\n`;

/**
 * The bundle answers with one reply for each call, in the order of the calls. A call that fails has `BUNDLE_FAILED` and the
 * error text as its reply, and does not touch the other calls.
 *
 * Keys and arguments come by position: the first of every call, then the second of every call. An argument that is the same in
 * all calls comes once; the first argument of the bundle has a 1 at its position. What a call costs besides its own work decides
 * what a bundle is worth, so only what differs between the calls is copied for each of them.
 */
export function bundleSource(source: string, { headLength, keys, args, isTimed, line }: BundleShape): string {
  const head = `${source.slice(0, headLength)}local count = #KEYS / ${keys}\n`;
  return `${head}${isTimed ? ONE_TIME : ''}${line > 0 ? oneLook(line) : ''}local function run(KEYS, ARGV)
${source.slice(headLength)}end
local replies, keys, args, own, before = {}, {}, {}, {}, {}
local from = 2
for a = 1, ${args} do
  if string.sub(ARGV[1], a, a) == '1' then
    args[a] = ARGV[from]
    from = from + 1
  else
    own[#own + 1] = a
    before[#own] = from - 1
    from = from + count
  end
end
for i = 1, count do
${Array.from({ length: keys }, (_, key) => keyOf(key)).join('')}  for o = 1, #own do args[own[o]] = ARGV[before[o] + i] end
  local is_well, reply = pcall(run, keys, args)
  if not is_well then reply = { ${BUNDLE_FAILED}, type(reply) == 'table' and reply.err or tostring(reply) } end
  replies[i] = reply
end
return replies
`;
}
