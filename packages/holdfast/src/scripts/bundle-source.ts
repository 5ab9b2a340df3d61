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
const oneLook = (line: number, keys: number): string => `local lines = {}
for i = ${line}, #KEYS, ${keys} do lines[#lines + 1] = KEYS[i] end
local lines_found = redis.pcall('EXISTS', unpack(lines))
local has_this_line = has_line
local function has_line(line) return lines_found ~= 0 and has_this_line(line) end
`;

/**
 * The bundle answers with one reply for each call, in the order of the calls. A call that fails has `BUNDLE_FAILED` and the
 * error text as its reply, and does not touch the other calls.
 *
 * The keys of the calls follow each other. Arguments come by position: the first argument of every call, then the second of
 * every call. An argument that is the same in all calls comes once; the first argument of the bundle has a 1 at its position.
 */
export function bundleSource(source: string, { headLength, keys, args, isTimed, line }: BundleShape): string {
  return `${source.slice(0, headLength)}${isTimed ? ONE_TIME : ''}${line > 0 ? oneLook(line, keys) : ''}local function run(KEYS, ARGV)
${source.slice(headLength)}end
local count = #KEYS / ${keys}
local replies, keys, args, first, step = {}, {}, {}, {}, {}
local from = 2
for a = 1, ${args} do
  step[a] = string.sub(ARGV[1], a, a) == '1' and 0 or 1
  first[a] = from
  from = from + (step[a] == 0 and 1 or count)
end
for i = 0, count - 1 do
  for k = 1, ${keys} do keys[k] = KEYS[i * ${keys} + k] end
  for a = 1, ${args} do args[a] = ARGV[first[a] + i * step[a]] end
  local is_well, reply = pcall(run, keys, args)
  if not is_well then reply = { ${BUNDLE_FAILED}, type(reply) == 'table' and reply.err or tostring(reply) } end
  replies[i + 1] = reply
end
return replies
`;
}
