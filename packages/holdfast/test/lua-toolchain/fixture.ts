/** Two small scripts that break no rule, to be broken one rule at a time. */
import { compile } from '../../../../scripts/lua/compile.ts';
import { describeComplaint } from '../../../../scripts/lua/complaint.ts';

export const TAKE: string = `#!lua
--- Takes the thing for one owner.
-- @key thing string: the owner
-- @key journal string: who took it last
-- @arg owner string: who takes it
-- @arg lease_ms integer, ms
-- @outcome GRANTED now_s:integer
-- @outcome HELD owner:string ttl_ms:integer
-- @repeat harmless: the same owner gets it again
-- @include now
-- @include note
local thing = KEYS[1]
local journal = KEYS[2]
local owner = ARGV[1]
local lease_ms = tonumber(ARGV[2])

local taken = redis.call('GET', thing)
if taken and taken ~= owner then return { HELD, taken, redis.call('PTTL', thing) } end
redis.call('SET', thing, owner, 'PX', lease_ms)
note(journal, owner)
return { GRANTED, server_now() }
`;

export const SWEEP: string = `#!lua
--- Deletes each thing that its owner still has.
-- @each key thing string: the owner
-- @each arg owner string: who had it
-- @each arg least_ms integer, ms: leave it alone when less is left
-- @each outcome RELEASED GONE
-- @repeat harmless: what is gone stays gone
local outcomes = {}
for i = 1, #KEYS do
  local thing = KEYS[i]
  local owner = ARGV[2 * i - 1]
  local least_ms = tonumber(ARGV[2 * i])
  outcomes[i] = GONE
  if redis.call('GET', thing) == owner and redis.call('PTTL', thing) >= least_ms then
    redis.call('DEL', thing)
    outcomes[i] = RELEASED
  end
end
return outcomes
`;

const NOW = `-- The server's time in seconds.
local function server_now()
  return tonumber(redis.call('TIME')[1])
end
`;

const NOTE = `-- Writes down who came last.
local function note(journal, owner)
  redis.call('SET', journal, owner)
end
`;

type Path = 'thing/take.lua' | 'thing/sweep.lua' | 'include/now.lua' | 'include/note.lua';

function fixtureFiles(): Map<string, string> {
  return new Map<Path, string>([
    ['include/note.lua', NOTE],
    ['include/now.lua', NOW],
    ['thing/sweep.lua', SWEEP],
    ['thing/take.lua', TAKE],
  ]);
}

/** The generated module of the fixture, as it is or with one piece of text replaced. */
export function moduleWith(path: Path, before: string, after: string): string {
  return compile(edited(path, before, after)).module;
}

export function fixtureModule(): string {
  return compile(fixtureFiles()).module;
}

/** What the toolchain says when one piece of text is replaced. */
export function complaintsWith(path: Path, before: string, after: string): string[] {
  return compile(edited(path, before, after)).complaints.map(describeComplaint);
}

/** What it says when a file is added or replaced as a whole. */
export function complaintsWithFile(path: string, text: string): string[] {
  return compile(fixtureFiles().set(path, text)).complaints.map(describeComplaint);
}

function edited(path: Path, before: string, after: string): Map<string, string> {
  const files = fixtureFiles();
  const text = files.get(path) ?? '';
  if (!text.includes(before)) throw new Error(`the fixture ${path} has no text ${JSON.stringify(before)}`);
  return files.set(
    path,
    text.replace(before, () => after),
  );
}
