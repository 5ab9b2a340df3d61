/** The text of a script that runs another one many times, made from the text of that one. */
import { BUNDLE_FAILED } from './outcome.ts';

export interface BundleShape {
  /** How long the head of the script is: shebang, outcomes and includes, which are there once. */
  readonly headLength: number;
  /** How many keys and arguments each has. */
  readonly keys: number;
  readonly args: number;
  /** Whether it asks for the server's time: that is the same for all, and asking once saves a call for each. */
  readonly isTimed: boolean;
  /** Which of its keys is the line of waiters, from 1; 0 for none. Whether there are lines is asked once for all. */
  readonly line: number;
}

const ONE_TIME = `local bundle_ms, bundle_us = server_now()
local function server_now() return bundle_ms, bundle_us end
`;

/**
 * One command says that none of the names has a line, as a rule. What a call of the bundle does to a line changes nothing
 * for the calls behind it: they are of other names.
 */
const oneLook = (line: number, keys: number): string => `local lines = {}
for i = ${line}, #KEYS, ${keys} do lines[#lines + 1] = KEYS[i] end
local lines_found = redis.pcall('EXISTS', unpack(lines))
local has_this_line = has_line
local function has_line(line) return lines_found ~= 0 and has_this_line(line) end
`;

/**
 * One reply each, in their order. What fails for one is its own reply, `BUNDLE_FAILED` and the words, and does not
 * touch the others.
 *
 * Keys are laid end to end. Arguments come by position, all of the first ones before the second ones, and one that is
 * the same for all comes once: the first argument has a 1 for each of those.
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
