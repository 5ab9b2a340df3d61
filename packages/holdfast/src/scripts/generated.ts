// Generated from lua/ by `npm run lua`. Do not edit.
import { bundleSource } from './bundle-source.ts';
import { OUTCOMES } from './outcome.ts';
import {
  type BatchScript,
  bareInteger,
  integerAt,
  openBatch,
  openReply,
  refuseReply,
  requireItems,
  type Script,
  stringAt,
  stringsFrom,
} from './script.ts';
import type { Reply, ScriptCall, ScriptText } from './script-call.ts';

const adminForceReleaseLockSource =
  '#!lua flags=allow-oom\n' +
  'local RELEASED = 5\n' +
  'local HELD = 2\n' +
  'local GONE = 6\n' +
  'local MUTEX = 12\n' +
  'local CONFLICT = 4\n' +
  'local function is_lock(field, ttl_ms)\n' +
  "if #field[1] > 1024 or #field[2] > 15 or not string.match(field[2], '^%d+$') then return false end\n" +
  "return ttl_ms >= 0 or string.match(field[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') ~= nil\n" +
  'end\n' +
  'local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  'return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms\n' +
  'end\n' +
  'local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if ttl_ms == 0 then return redis.pcall('SET', fence, last) end\n" +
  'local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  "local left_ms = text and redis.call('PTTL', fence) or 0\n" +
  "if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end\n" +
  "return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)\n" +
  'end\n' +
  'local function next_fences(fence, count, now_us, common_us)\n' +
  "local text = redis.pcall('GET', fence)\n" +
  "if type(text) == 'table' then return nil end\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored or stored + count > 9007199254740991 then return nil end\n' +
  'local earliest_us = stored > 0 and now_us - 20000 or now_us\n' +
  'local from_us = now_us\n' +
  'if common_us >= earliest_us and common_us <= now_us + 100000 then from_us = common_us end\n' +
  'local first = math.max(stored + 1, from_us)\n' +
  'return first, math.max(first, math.min(first + count - 1, from_us + 1000)), text\n' +
  'end\n' +
  'local function reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)\n' +
  'local first, last, text = next_fences(fence, count, now_us, common_us)\n' +
  'if not first then\n' +
  "redis.call('GET', fence)\n" +
  "error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })\n" +
  'end\n' +
  'local reply = store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if reply['err'] then error(reply) end\n" +
  'return first, last - first + 1\n' +
  'end\n' +
  'local function is_own_kind(ticket)\n' +
  "return not string.match(ticket.holder, ':holdfast$')\n" +
  'end\n' +
  'local function make_owner(lock, ticket, fence, now_ms, now_us)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', lock, ticket.claim_ms) then return nil end\n" +
  'local first, last, text = next_fences(fence, tonumber(ticket.fences), now_us, 0)\n' +
  'if not first then return nil end\n' +
  'local stored = store_counter(fence, text, last, tonumber(ticket.fence_ttl_ms), now_ms, tonumber(ticket.claim_ms))\n' +
  "if stored['err'] then return nil end\n" +
  "if type(redis.pcall('HSET', lock, ticket.holder, '1')) == 'table' then return nil end\n" +
  "redis.call('PEXPIRE', lock, ticket.claim_ms)\n" +
  'return first, last - first + 1\n' +
  'end\n' +
  'local function unmake_owner(lock, ticket)\n' +
  "redis.call('HDEL', lock, ticket.holder)\n" +
  'end\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local LINE_MS = 20000\n' +
  'local WINDOW_MS_MAX = 80\n' +
  'local function read_line(line, holder)\n' +
  "local fields = redis.pcall('HLEN', line)\n" +
  "if type(fields) == 'table' then\n" +
  "if not string.match(fields['err'], '^WRONGTYPE') then error(fields) end\n" +
  "return nil, 'something else under the key of its line of waiters'\n" +
  'end\n' +
  'if fields == 0 then return nil end\n' +
  "local own = '#' .. holder\n" +
  "local found = redis.call('HMGET', line, 'first', 'last', 'open', 'window', 'run', 'since', 'guest', 'linger', own)\n" +
  'local state = { place = tonumber(found[9]), tickets = math.max(0, math.floor((fields - 8) / 2)) }\n' +
  'state.first, state.last, state.open = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])\n' +
  'state.window, state.run = tonumber(found[4]), tonumber(found[5])\n' +
  'state.since, state.guest = tonumber(found[6]), tonumber(found[7])\n' +
  'local is_whole = found[8] and state.first and state.last and state.open and state.window and state.run and state.since\n' +
  'if is_whole and state.guest then return state end\n' +
  "redis.call('DEL', line)\n" +
  'return nil\n' +
  'end\n' +
  'local function new_line(line, now_ms, linger)\n' +
  'require_expiry(line, LINE_MS)\n' +
  "local counts = { 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0 }\n" +
  "redis.call('HSET', line, 'linger', linger, unpack(counts))\n" +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'return { tickets = 0, first = 1, last = 0, open = 0, window = 0, run = 0, since = now_ms, guest = 0 }\n' +
  'end\n' +
  'local function open_ms(state, now_ms)\n' +
  'local left_ms = state.open - now_ms\n' +
  'if left_ms > WINDOW_MS_MAX then return 0 end\n' +
  'return math.max(0, left_ms)\n' +
  'end\n' +
  'local function remove(line, state, place, holder)\n' +
  "redis.call('HDEL', line, place, '#' .. holder)\n" +
  'state.tickets = state.tickets - 1\n' +
  'end\n' +
  'local function read_ticket(text)\n' +
  'local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =\n' +
  "string.match(text or '', '^(%S+) (%S+) (%d+) ([1-9]%d*) ([1-9]%d*) (%d+) (%d+) (%d+) (%a) (.*)$')\n" +
  'if not holder or #claim_ms > 12 or #fences > 9 then return nil end\n' +
  'return {\n' +
  'holder = holder,\n' +
  'echo = echo,\n' +
  'lease_ms = lease_ms,\n' +
  'claim_ms = claim_ms,\n' +
  'fences = fences,\n' +
  'fence_ttl_ms = fence_ttl_ms,\n' +
  'deadline_ms = deadline_ms,\n' +
  'since_ms = since_ms,\n' +
  'mode = mode,\n' +
  'channel = channel,\n' +
  '}\n' +
  'end\n' +
  'local function write_ticket(ticket)\n' +
  "local terms = ticket.lease_ms .. ' ' .. ticket.claim_ms .. ' ' .. ticket.fences .. ' ' .. ticket.fence_ttl_ms\n" +
  "local times = ticket.deadline_ms .. ' ' .. ticket.since_ms\n" +
  "return ticket.holder .. ' ' .. ticket.echo .. ' ' .. terms .. ' ' .. times .. ' ' .. ticket.mode .. ' ' .. ticket.channel\n" +
  'end\n' +
  'local function send(ticket, message)\n' +
  'local received\n' +
  "if ticket.mode == 's' then\n" +
  "received = redis.pcall('SPUBLISH', ticket.channel, message)\n" +
  'else\n' +
  "received = redis.pcall('PUBLISH', ticket.channel, message)\n" +
  'end\n' +
  "if type(received) == 'number' then return received end\n" +
  'end\n' +
  'local function mark_deaf(line, place, ticket)\n' +
  "ticket.mode = 'n'\n" +
  "redis.call('HSET', line, place, write_ticket(ticket))\n" +
  'end\n' +
  'local function tell(line, place, ticket, message)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  'local received = send(ticket, message)\n' +
  'if not received then return false end\n' +
  "if received > 0 or ticket.mode == 'b' then return true end\n" +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local function listens(line, place, ticket)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  "if ticket.mode == 'b' then return true end\n" +
  'local counted\n' +
  "if ticket.mode == 's' then\n" +
  "counted = redis.pcall('PUBSUB', 'SHARDNUMSUB', ticket.channel)\n" +
  'else\n' +
  "counted = redis.pcall('PUBSUB', 'NUMSUB', ticket.channel)\n" +
  'end\n' +
  'if counted[2] ~= 0 then return true end\n' +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local DEADLINE_MS_MAX = 60000\n' +
  'local function serve(key, fence, line, place, ticket, asker, now_ms, now_us)\n' +
  "if ticket.holder == asker then return 'asker' end\n" +
  'local left_ms = tonumber(ticket.deadline_ms) - now_ms\n' +
  'if left_ms < 0 or left_ms > DEADLINE_MS_MAX then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'gone'\n" +
  'end\n' +
  'if not is_own_kind(ticket) then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'passed'\n" +
  'end\n' +
  "if not listens(line, place, ticket) then return 'passed' end\n" +
  'local first, count = make_owner(key, ticket, fence, now_ms, now_us)\n' +
  "if not first then return 'blocked' end\n" +
  "if send(ticket, string.format('g %s %.0f %.0f', ticket.echo, first, count)) then return 'given' end\n" +
  'unmake_owner(key, ticket)\n' +
  "return 'passed'\n" +
  'end\n' +
  'local PLACES_MAX, READ_MAX = 20000, 256\n' +
  'local function advance(line, state, passed, rest)\n' +
  'local first = rest - #passed\n' +
  'local empty = first - state.first\n' +
  'if empty < 64 or empty < #passed then\n' +
  'state.first = passed[1] and passed[1].place or rest\n' +
  'return\n' +
  'end\n' +
  'for i = #passed, 1, -1 do\n' +
  'local from, to, ticket = passed[i].place, first + i - 1, passed[i].ticket\n' +
  'if from ~= to then\n' +
  "redis.call('HSET', line, to, write_ticket(ticket), '#' .. ticket.holder, to)\n" +
  "redis.call('HDEL', line, from)\n" +
  'if from == state.place then state.place = to end\n' +
  'end\n' +
  'end\n' +
  'state.first = first\n' +
  'end\n' +
  'local function settle(key, fence, line, state, asker, now_ms, now_us)\n' +
  "if open_ms(state, now_ms) > 0 then return 'open', '' end\n" +
  "local outcome, owner, passed, front = 'nobody', '', {}, state.first\n" +
  'local rest, last, size = front, math.min(state.last, front + PLACES_MAX - 1), 1\n' +
  "while rest <= last and outcome == 'nobody' do\n" +
  'local places = {}\n' +
  'for i = 1, math.min(size, last - rest + 1) do places[i] = rest + i - 1 end\n' +
  "local texts = redis.call('HMGET', line, unpack(places))\n" +
  'for i = 1, #places do\n' +
  'local ticket = read_ticket(texts[i])\n' +
  "local fate = ticket and serve(key, fence, line, places[i], ticket, asker, now_ms, now_us) or 'empty'\n" +
  "if fate == 'passed' then passed[#passed + 1] = { place = places[i], ticket = ticket } end\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'gone' then remove(line, state, places[i], ticket.holder) end\n" +
  "rest = places[i] + (fate == 'blocked' and 0 or 1)\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'blocked' then\n" +
  'outcome, owner = fate, ticket.holder\n' +
  'break\n' +
  'end\n' +
  'end\n' +
  'size = math.min(READ_MAX, 2 * size)\n' +
  'end\n' +
  'advance(line, state, passed, rest)\n' +
  "if outcome == 'asker' then state.place = nil end\n" +
  "local is_served = outcome == 'asker' or outcome == 'given'\n" +
  'if is_served then state.run = state.run + 1 end\n' +
  "if is_served or state.first > front then redis.call('HSET', line, 'first', state.first, 'run', state.run) end\n" +
  'return outcome, owner\n' +
  'end\n' +
  'local TOLD_MAX = 256\n' +
  'local function wake(line, state, in_ms)\n' +
  'for place = state.first, math.min(state.last, state.first + TOLD_MAX - 1) do\n' +
  "local ticket = read_ticket(redis.call('HMGET', line, place)[1])\n" +
  "if ticket and tell(line, place, ticket, string.format('a %s %.0f', ticket.echo, in_ms)) then return end\n" +
  'end\n' +
  'end\n' +
  'local function listeners_of(mode, channel)\n' +
  'local count = 0\n' +
  "if mode == 'plain' or mode == 'both' then count = redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0 end\n" +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local sharded = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0\n" +
  'if sharded > count then count = sharded end\n' +
  'end\n' +
  'return count\n' +
  'end\n' +
  'local WINDOW_MS_MIN = 5\n' +
  'local RUN_WINDOWS = 10\n' +
  'local RUN_MS_POLLED = 40\n' +
  'local SHARE_UNSEEN = 50\n' +
  'local SHARE_SEEN = 8\n' +
  'local SEEN_MS = 60000\n' +
  'local function window_ms(state, mode, channel, is_polled, now_ms)\n' +
  'local run_ms, unseen_ms = now_ms - state.since, now_ms - state.guest\n' +
  'if run_ms < 0 then run_ms = RUN_WINDOWS * WINDOW_MS_MAX end\n' +
  'if state.run > 0 and run_ms >= RUN_WINDOWS * state.window then\n' +
  'local listeners = listeners_of(mode, channel)\n' +
  'local turns = math.max(1, -state.window)\n' +
  'local is_due = listeners > 0 and state.run >= turns * (state.tickets + 1) / listeners - 0.5\n' +
  'if is_due then return math.min(WINDOW_MS_MAX, math.max(WINDOW_MS_MIN, 2 * state.window)) end\n' +
  'end\n' +
  'if is_polled and state.tickets > 0 and run_ms >= RUN_MS_POLLED then\n' +
  'local share = unseen_ms >= 0 and unseen_ms < SEEN_MS and SHARE_SEEN or SHARE_UNSEEN\n' +
  'return math.min(WINDOW_MS_MAX, math.max(1, math.floor(run_ms / share)))\n' +
  'end\n' +
  'return 0\n' +
  'end\n' +
  'local function open_window(line, length_ms, now_ms)\n' +
  "redis.call('HSET', line, 'open', now_ms + length_ms, 'window', length_ms, 'run', 0, 'since', now_ms)\n" +
  'end\n' +
  'local function leave_to_guests(key, line)\n' +
  "if redis.call('PTTL', key) ~= -2 then return end\n" +
  'local now_ms = server_now()\n' +
  "new_line(line, now_ms, '')\n" +
  'open_window(line, WINDOW_MS_MIN, now_ms)\n' +
  'end\n' +
  'local function note_guest(line, now_ms)\n' +
  "redis.call('HSET', line, 'window', 0, 'guest', now_ms)\n" +
  'end\n' +
  'local function notify(mode, channel, message)\n' +
  'local receivers = 0\n' +
  "if mode == 'plain' or mode == 'both' then\n" +
  "local heard = redis.pcall('PUBLISH', channel, message)\n" +
  "if type(heard) == 'number' then receivers = heard end\n" +
  'end\n' +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local heard = redis.pcall('SPUBLISH', channel, message)\n" +
  "if type(heard) == 'number' and heard > receivers then receivers = heard end\n" +
  'end\n' +
  'return receivers\n' +
  'end\n' +
  'local function leave(line, state, holder)\n' +
  'local place, front = state.place, state.first\n' +
  'state.place = nil\n' +
  'remove(line, state, place, holder)\n' +
  'if place ~= front then return place == front + 1 end\n' +
  'local first = place + 1\n' +
  "while first <= state.last and first < front + 1000 and redis.call('HEXISTS', line, first) == 0 do first = first + 1 end\n" +
  'state.first = first\n' +
  "redis.call('HSET', line, 'first', first)\n" +
  'return true\n' +
  'end\n' +
  'local function go_on(key, fence, line, holder, was_owner, mode, channel, is_polled)\n' +
  'local state = read_line(line, holder)\n' +
  'if not state then return nil end\n' +
  'local now_ms, now_us = server_now()\n' +
  'local was_waiting = state.place ~= nil\n' +
  'local was_front = was_waiting and leave(line, state, holder)\n' +
  "if redis.call('PTTL', key) ~= -2 then\n" +
  'if was_owner or was_front then wake(line, state, 0) end\n' +
  "return was_owner and notify(mode, channel, '0') or 0, was_waiting\n" +
  'end\n' +
  'local length_ms = was_owner and is_polled ~= nil and window_ms(state, mode, channel, is_polled, now_ms) or 0\n' +
  'if length_ms > 0 then\n' +
  'open_window(line, length_ms, now_ms)\n' +
  "local heard = notify(mode, channel, '0')\n" +
  'wake(line, state, is_polled and length_ms or 0)\n' +
  'return heard, was_waiting\n' +
  'end\n' +
  "local outcome = settle(key, fence, line, state, '', now_ms, now_us)\n" +
  "if outcome == 'given' then return 0, was_waiting end\n" +
  "if outcome == 'open' then wake(line, state, open_ms(state, now_ms)) end\n" +
  "if outcome == 'blocked' then wake(line, state, 0) end\n" +
  "local heard = was_owner and notify(mode, channel, '0') or 0\n" +
  "if heard == 0 and state.tickets == 0 and outcome == 'nobody' then redis.pcall('DEL', line) end\n" +
  'return heard, was_waiting\n' +
  'end\n' +
  'local function revoke(key, fence, line, holder, channel, mode, mailbox, words)\n' +
  "redis.call('DEL', key)\n" +
  "local session = string.match(holder, '^(%x+%-%x+%-8%x+%-%x+%-%x+):%d+$')\n" +
  "if session and mailbox ~= '' then\n" +
  "notify(mode, mailbox .. session, 'x ' .. holder .. ' revoked' .. (words ~= '' and ' ' .. words or ''))\n" +
  'end\n' +
  'local is_done, receivers = true\n' +
  "if mailbox ~= '' then\n" +
  'is_done, receivers = pcall(go_on, key, fence, line, holder, true, mode, channel)\n' +
  'end\n' +
  'if is_done and receivers then return receivers end\n' +
  "return notify(mode, channel, '0')\n" +
  'end\n' +
  'local function words_key(key, owner)\n' +
  "local tagged = string.match(key, '{') and key or '{' .. key .. '}'\n" +
  "return 'holdfast_revoked:' .. tagged .. ':' .. owner\n" +
  'end\n' +
  'local WORDS_MS = 60000\n' +
  'local function leave_words(key, owner, words, ttl_ms)\n' +
  "if words == '' then return end\n" +
  'local left = words_key(key, owner)\n' +
  'if ttl_ms == -1 then ttl_ms = WORDS_MS end\n' +
  "redis.pcall('SET', left, 'revoked ' .. words, 'PX', math.max(ttl_ms, 1))\n" +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local fence = KEYS[2]\n' +
  'local line = KEYS[3]\n' +
  'local owner = ARGV[1]\n' +
  'local channel = ARGV[2]\n' +
  'local mode = ARGV[3]\n' +
  'local mailbox = ARGV[4]\n' +
  'local words = ARGV[5]\n' +
  "local found = redis.call('TYPE', lock)['ok']\n" +
  "if found == 'none' then return { GONE } end\n" +
  "if found == 'string' then return { MUTEX } end\n" +
  "if found ~= 'hash' or redis.call('HLEN', lock) ~= 1 then return { CONFLICT, found } end\n" +
  "local ttl_ms = redis.call('PTTL', lock)\n" +
  "local field = redis.call('HGETALL', lock)\n" +
  "if not is_lock(field, ttl_ms) then return { CONFLICT, 'a hash that is not a lock' } end\n" +
  'local holder = field[1]\n' +
  "if owner ~= '' and owner ~= holder then return { HELD, holder, ttl_ms } end\n" +
  'local receivers = revoke(lock, fence, line, holder, channel, mode, mailbox, words)\n' +
  'leave_words(lock, holder, words, ttl_ms)\n' +
  'return { RELEASED, holder, receivers }\n';

const adminForceReleaseLockText: ScriptText = {
  name: 'admin.force-release-lock',
  sha: 'd7c9a7d74e3ff2befa104dae1bdba1c5237056e5',
  source: adminForceReleaseLockSource,
};

export interface AdminForceReleaseLockInput {
  /** any type: what stands under the name */
  readonly lock: string;
  /** string: the last fence given out */
  readonly fence: string;
  /** hash: who waits, see include/line.lua */
  readonly line: string;
  /** from whom, as inspect shows it; empty: from whoever has it */
  readonly owner: string;
  /** where those listen who have no ticket */
  readonly channel: string;
  /** how to tell them: plain, sharded or both */
  readonly mode: string;
  /** the channel of a session, less its id; empty on a server of a quorum, which has no line */
  readonly mailbox: string;
  /** why, in the operator's words; told to the owner */
  readonly words: string;
}

export type AdminForceReleaseLockOutcome =
  | { readonly is: 'RELEASED'; readonly owner: string; readonly receivers: number }
  | { readonly is: 'HELD'; readonly owner: string; readonly ttlMs: number }
  | { readonly is: 'GONE' }
  | { readonly is: 'MUTEX' }
  | { readonly is: 'CONFLICT'; readonly found: string };

/** Takes a lock away from one owner or from whoever has it, tells that owner, and gives the lock to the next in line. */
export const adminForceReleaseLock: Script<AdminForceReleaseLockInput, AdminForceReleaseLockOutcome> = {
  text: adminForceReleaseLockText,
  call(input: AdminForceReleaseLockInput): ScriptCall {
    return {
      script: adminForceReleaseLockText,
      keys: [input.lock, input.fence, input.line],
      args: [input.owner, input.channel, input.mode, input.mailbox, input.words],
    };
  },
  decode(reply: Reply): AdminForceReleaseLockOutcome {
    const items = openReply(adminForceReleaseLockText, reply);
    switch (items[0]) {
      case OUTCOMES.RELEASED:
        requireItems(adminForceReleaseLockText, items, 3);
        return {
          is: 'RELEASED',
          owner: stringAt(adminForceReleaseLockText, items, 1),
          receivers: integerAt(adminForceReleaseLockText, items, 2),
        };
      case OUTCOMES.HELD:
        requireItems(adminForceReleaseLockText, items, 3);
        return {
          is: 'HELD',
          owner: stringAt(adminForceReleaseLockText, items, 1),
          ttlMs: integerAt(adminForceReleaseLockText, items, 2),
        };
      case OUTCOMES.GONE:
        requireItems(adminForceReleaseLockText, items, 1);
        return { is: 'GONE' };
      case OUTCOMES.MUTEX:
        requireItems(adminForceReleaseLockText, items, 1);
        return { is: 'MUTEX' };
      case OUTCOMES.CONFLICT:
        requireItems(adminForceReleaseLockText, items, 2);
        return { is: 'CONFLICT', found: stringAt(adminForceReleaseLockText, items, 1) };
      default:
        return refuseReply(adminForceReleaseLockText, reply);
    }
  },
};

const adminForceReleaseMutexSource =
  '#!lua flags=allow-oom\n' +
  'local RELEASED = 5\n' +
  'local HELD = 2\n' +
  'local GONE = 6\n' +
  'local CONFLICT = 4\n' +
  'local function mutex_owner(mutex)\n' +
  "if redis.call('STRLEN', mutex) > 1024 then return nil end\n" +
  "return redis.sha1hex(redis.call('GET', mutex))\n" +
  'end\n' +
  'local function is_own_kind(ticket)\n' +
  "return string.match(ticket.holder, ':holdfast$')\n" +
  'end\n' +
  'local function make_owner(mutex, ticket)\n' +
  "if redis.pcall('SET', mutex, ticket.holder, 'PX', ticket.claim_ms)['err'] then return nil end\n" +
  'return 0, 0\n' +
  'end\n' +
  'local function unmake_owner(mutex)\n' +
  "redis.call('DEL', mutex)\n" +
  'end\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local LINE_MS = 20000\n' +
  'local WINDOW_MS_MAX = 80\n' +
  'local function read_line(line, holder)\n' +
  "local fields = redis.pcall('HLEN', line)\n" +
  "if type(fields) == 'table' then\n" +
  "if not string.match(fields['err'], '^WRONGTYPE') then error(fields) end\n" +
  "return nil, 'something else under the key of its line of waiters'\n" +
  'end\n' +
  'if fields == 0 then return nil end\n' +
  "local own = '#' .. holder\n" +
  "local found = redis.call('HMGET', line, 'first', 'last', 'open', 'window', 'run', 'since', 'guest', 'linger', own)\n" +
  'local state = { place = tonumber(found[9]), tickets = math.max(0, math.floor((fields - 8) / 2)) }\n' +
  'state.first, state.last, state.open = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])\n' +
  'state.window, state.run = tonumber(found[4]), tonumber(found[5])\n' +
  'state.since, state.guest = tonumber(found[6]), tonumber(found[7])\n' +
  'local is_whole = found[8] and state.first and state.last and state.open and state.window and state.run and state.since\n' +
  'if is_whole and state.guest then return state end\n' +
  "redis.call('DEL', line)\n" +
  'return nil\n' +
  'end\n' +
  'local function new_line(line, now_ms, linger)\n' +
  'require_expiry(line, LINE_MS)\n' +
  "local counts = { 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0 }\n" +
  "redis.call('HSET', line, 'linger', linger, unpack(counts))\n" +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'return { tickets = 0, first = 1, last = 0, open = 0, window = 0, run = 0, since = now_ms, guest = 0 }\n' +
  'end\n' +
  'local function open_ms(state, now_ms)\n' +
  'local left_ms = state.open - now_ms\n' +
  'if left_ms > WINDOW_MS_MAX then return 0 end\n' +
  'return math.max(0, left_ms)\n' +
  'end\n' +
  'local function remove(line, state, place, holder)\n' +
  "redis.call('HDEL', line, place, '#' .. holder)\n" +
  'state.tickets = state.tickets - 1\n' +
  'end\n' +
  'local function read_ticket(text)\n' +
  'local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =\n' +
  "string.match(text or '', '^(%S+) (%S+) (%d+) ([1-9]%d*) ([1-9]%d*) (%d+) (%d+) (%d+) (%a) (.*)$')\n" +
  'if not holder or #claim_ms > 12 or #fences > 9 then return nil end\n' +
  'return {\n' +
  'holder = holder,\n' +
  'echo = echo,\n' +
  'lease_ms = lease_ms,\n' +
  'claim_ms = claim_ms,\n' +
  'fences = fences,\n' +
  'fence_ttl_ms = fence_ttl_ms,\n' +
  'deadline_ms = deadline_ms,\n' +
  'since_ms = since_ms,\n' +
  'mode = mode,\n' +
  'channel = channel,\n' +
  '}\n' +
  'end\n' +
  'local function write_ticket(ticket)\n' +
  "local terms = ticket.lease_ms .. ' ' .. ticket.claim_ms .. ' ' .. ticket.fences .. ' ' .. ticket.fence_ttl_ms\n" +
  "local times = ticket.deadline_ms .. ' ' .. ticket.since_ms\n" +
  "return ticket.holder .. ' ' .. ticket.echo .. ' ' .. terms .. ' ' .. times .. ' ' .. ticket.mode .. ' ' .. ticket.channel\n" +
  'end\n' +
  'local function send(ticket, message)\n' +
  'local received\n' +
  "if ticket.mode == 's' then\n" +
  "received = redis.pcall('SPUBLISH', ticket.channel, message)\n" +
  'else\n' +
  "received = redis.pcall('PUBLISH', ticket.channel, message)\n" +
  'end\n' +
  "if type(received) == 'number' then return received end\n" +
  'end\n' +
  'local function mark_deaf(line, place, ticket)\n' +
  "ticket.mode = 'n'\n" +
  "redis.call('HSET', line, place, write_ticket(ticket))\n" +
  'end\n' +
  'local function tell(line, place, ticket, message)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  'local received = send(ticket, message)\n' +
  'if not received then return false end\n' +
  "if received > 0 or ticket.mode == 'b' then return true end\n" +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local function listens(line, place, ticket)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  "if ticket.mode == 'b' then return true end\n" +
  'local counted\n' +
  "if ticket.mode == 's' then\n" +
  "counted = redis.pcall('PUBSUB', 'SHARDNUMSUB', ticket.channel)\n" +
  'else\n' +
  "counted = redis.pcall('PUBSUB', 'NUMSUB', ticket.channel)\n" +
  'end\n' +
  'if counted[2] ~= 0 then return true end\n' +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local DEADLINE_MS_MAX = 60000\n' +
  'local function serve(key, fence, line, place, ticket, asker, now_ms, now_us)\n' +
  "if ticket.holder == asker then return 'asker' end\n" +
  'local left_ms = tonumber(ticket.deadline_ms) - now_ms\n' +
  'if left_ms < 0 or left_ms > DEADLINE_MS_MAX then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'gone'\n" +
  'end\n' +
  'if not is_own_kind(ticket) then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'passed'\n" +
  'end\n' +
  "if not listens(line, place, ticket) then return 'passed' end\n" +
  'local first, count = make_owner(key, ticket, fence, now_ms, now_us)\n' +
  "if not first then return 'blocked' end\n" +
  "if send(ticket, string.format('g %s %.0f %.0f', ticket.echo, first, count)) then return 'given' end\n" +
  'unmake_owner(key, ticket)\n' +
  "return 'passed'\n" +
  'end\n' +
  'local PLACES_MAX, READ_MAX = 20000, 256\n' +
  'local function advance(line, state, passed, rest)\n' +
  'local first = rest - #passed\n' +
  'local empty = first - state.first\n' +
  'if empty < 64 or empty < #passed then\n' +
  'state.first = passed[1] and passed[1].place or rest\n' +
  'return\n' +
  'end\n' +
  'for i = #passed, 1, -1 do\n' +
  'local from, to, ticket = passed[i].place, first + i - 1, passed[i].ticket\n' +
  'if from ~= to then\n' +
  "redis.call('HSET', line, to, write_ticket(ticket), '#' .. ticket.holder, to)\n" +
  "redis.call('HDEL', line, from)\n" +
  'if from == state.place then state.place = to end\n' +
  'end\n' +
  'end\n' +
  'state.first = first\n' +
  'end\n' +
  'local function settle(key, fence, line, state, asker, now_ms, now_us)\n' +
  "if open_ms(state, now_ms) > 0 then return 'open', '' end\n" +
  "local outcome, owner, passed, front = 'nobody', '', {}, state.first\n" +
  'local rest, last, size = front, math.min(state.last, front + PLACES_MAX - 1), 1\n' +
  "while rest <= last and outcome == 'nobody' do\n" +
  'local places = {}\n' +
  'for i = 1, math.min(size, last - rest + 1) do places[i] = rest + i - 1 end\n' +
  "local texts = redis.call('HMGET', line, unpack(places))\n" +
  'for i = 1, #places do\n' +
  'local ticket = read_ticket(texts[i])\n' +
  "local fate = ticket and serve(key, fence, line, places[i], ticket, asker, now_ms, now_us) or 'empty'\n" +
  "if fate == 'passed' then passed[#passed + 1] = { place = places[i], ticket = ticket } end\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'gone' then remove(line, state, places[i], ticket.holder) end\n" +
  "rest = places[i] + (fate == 'blocked' and 0 or 1)\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'blocked' then\n" +
  'outcome, owner = fate, ticket.holder\n' +
  'break\n' +
  'end\n' +
  'end\n' +
  'size = math.min(READ_MAX, 2 * size)\n' +
  'end\n' +
  'advance(line, state, passed, rest)\n' +
  "if outcome == 'asker' then state.place = nil end\n" +
  "local is_served = outcome == 'asker' or outcome == 'given'\n" +
  'if is_served then state.run = state.run + 1 end\n' +
  "if is_served or state.first > front then redis.call('HSET', line, 'first', state.first, 'run', state.run) end\n" +
  'return outcome, owner\n' +
  'end\n' +
  'local TOLD_MAX = 256\n' +
  'local function wake(line, state, in_ms)\n' +
  'for place = state.first, math.min(state.last, state.first + TOLD_MAX - 1) do\n' +
  "local ticket = read_ticket(redis.call('HMGET', line, place)[1])\n" +
  "if ticket and tell(line, place, ticket, string.format('a %s %.0f', ticket.echo, in_ms)) then return end\n" +
  'end\n' +
  'end\n' +
  'local function listeners_of(mode, channel)\n' +
  'local count = 0\n' +
  "if mode == 'plain' or mode == 'both' then count = redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0 end\n" +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local sharded = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0\n" +
  'if sharded > count then count = sharded end\n' +
  'end\n' +
  'return count\n' +
  'end\n' +
  'local WINDOW_MS_MIN = 5\n' +
  'local RUN_WINDOWS = 10\n' +
  'local RUN_MS_POLLED = 40\n' +
  'local SHARE_UNSEEN = 50\n' +
  'local SHARE_SEEN = 8\n' +
  'local SEEN_MS = 60000\n' +
  'local function window_ms(state, mode, channel, is_polled, now_ms)\n' +
  'local run_ms, unseen_ms = now_ms - state.since, now_ms - state.guest\n' +
  'if run_ms < 0 then run_ms = RUN_WINDOWS * WINDOW_MS_MAX end\n' +
  'if state.run > 0 and run_ms >= RUN_WINDOWS * state.window then\n' +
  'local listeners = listeners_of(mode, channel)\n' +
  'local turns = math.max(1, -state.window)\n' +
  'local is_due = listeners > 0 and state.run >= turns * (state.tickets + 1) / listeners - 0.5\n' +
  'if is_due then return math.min(WINDOW_MS_MAX, math.max(WINDOW_MS_MIN, 2 * state.window)) end\n' +
  'end\n' +
  'if is_polled and state.tickets > 0 and run_ms >= RUN_MS_POLLED then\n' +
  'local share = unseen_ms >= 0 and unseen_ms < SEEN_MS and SHARE_SEEN or SHARE_UNSEEN\n' +
  'return math.min(WINDOW_MS_MAX, math.max(1, math.floor(run_ms / share)))\n' +
  'end\n' +
  'return 0\n' +
  'end\n' +
  'local function open_window(line, length_ms, now_ms)\n' +
  "redis.call('HSET', line, 'open', now_ms + length_ms, 'window', length_ms, 'run', 0, 'since', now_ms)\n" +
  'end\n' +
  'local function leave_to_guests(key, line)\n' +
  "if redis.call('PTTL', key) ~= -2 then return end\n" +
  'local now_ms = server_now()\n' +
  "new_line(line, now_ms, '')\n" +
  'open_window(line, WINDOW_MS_MIN, now_ms)\n' +
  'end\n' +
  'local function note_guest(line, now_ms)\n' +
  "redis.call('HSET', line, 'window', 0, 'guest', now_ms)\n" +
  'end\n' +
  'local function notify(mode, channel, message)\n' +
  'local receivers = 0\n' +
  "if mode == 'plain' or mode == 'both' then\n" +
  "local heard = redis.pcall('PUBLISH', channel, message)\n" +
  "if type(heard) == 'number' then receivers = heard end\n" +
  'end\n' +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local heard = redis.pcall('SPUBLISH', channel, message)\n" +
  "if type(heard) == 'number' and heard > receivers then receivers = heard end\n" +
  'end\n' +
  'return receivers\n' +
  'end\n' +
  'local function leave(line, state, holder)\n' +
  'local place, front = state.place, state.first\n' +
  'state.place = nil\n' +
  'remove(line, state, place, holder)\n' +
  'if place ~= front then return place == front + 1 end\n' +
  'local first = place + 1\n' +
  "while first <= state.last and first < front + 1000 and redis.call('HEXISTS', line, first) == 0 do first = first + 1 end\n" +
  'state.first = first\n' +
  "redis.call('HSET', line, 'first', first)\n" +
  'return true\n' +
  'end\n' +
  'local function go_on(key, fence, line, holder, was_owner, mode, channel, is_polled)\n' +
  'local state = read_line(line, holder)\n' +
  'if not state then return nil end\n' +
  'local now_ms, now_us = server_now()\n' +
  'local was_waiting = state.place ~= nil\n' +
  'local was_front = was_waiting and leave(line, state, holder)\n' +
  "if redis.call('PTTL', key) ~= -2 then\n" +
  'if was_owner or was_front then wake(line, state, 0) end\n' +
  "return was_owner and notify(mode, channel, '0') or 0, was_waiting\n" +
  'end\n' +
  'local length_ms = was_owner and is_polled ~= nil and window_ms(state, mode, channel, is_polled, now_ms) or 0\n' +
  'if length_ms > 0 then\n' +
  'open_window(line, length_ms, now_ms)\n' +
  "local heard = notify(mode, channel, '0')\n" +
  'wake(line, state, is_polled and length_ms or 0)\n' +
  'return heard, was_waiting\n' +
  'end\n' +
  "local outcome = settle(key, fence, line, state, '', now_ms, now_us)\n" +
  "if outcome == 'given' then return 0, was_waiting end\n" +
  "if outcome == 'open' then wake(line, state, open_ms(state, now_ms)) end\n" +
  "if outcome == 'blocked' then wake(line, state, 0) end\n" +
  "local heard = was_owner and notify(mode, channel, '0') or 0\n" +
  "if heard == 0 and state.tickets == 0 and outcome == 'nobody' then redis.pcall('DEL', line) end\n" +
  'return heard, was_waiting\n' +
  'end\n' +
  'local function revoke(key, fence, line, holder, channel, mode, mailbox, words)\n' +
  "redis.call('DEL', key)\n" +
  "local session = string.match(holder, '^(%x+%-%x+%-8%x+%-%x+%-%x+):%d+$')\n" +
  "if session and mailbox ~= '' then\n" +
  "notify(mode, mailbox .. session, 'x ' .. holder .. ' revoked' .. (words ~= '' and ' ' .. words or ''))\n" +
  'end\n' +
  'local is_done, receivers = true\n' +
  "if mailbox ~= '' then\n" +
  'is_done, receivers = pcall(go_on, key, fence, line, holder, true, mode, channel)\n' +
  'end\n' +
  'if is_done and receivers then return receivers end\n' +
  "return notify(mode, channel, '0')\n" +
  'end\n' +
  'local function words_key(key, owner)\n' +
  "local tagged = string.match(key, '{') and key or '{' .. key .. '}'\n" +
  "return 'holdfast_revoked:' .. tagged .. ':' .. owner\n" +
  'end\n' +
  'local WORDS_MS = 60000\n' +
  'local function leave_words(key, owner, words, ttl_ms)\n' +
  "if words == '' then return end\n" +
  'local left = words_key(key, owner)\n' +
  'if ttl_ms == -1 then ttl_ms = WORDS_MS end\n' +
  "redis.pcall('SET', left, 'revoked ' .. words, 'PX', math.max(ttl_ms, 1))\n" +
  'end\n' +
  'local mutex = KEYS[1]\n' +
  'local line = KEYS[2]\n' +
  'local owner = ARGV[1]\n' +
  'local channel = ARGV[2]\n' +
  'local mode = ARGV[3]\n' +
  'local mailbox = ARGV[4]\n' +
  'local words = ARGV[5]\n' +
  "local found = redis.call('TYPE', mutex)['ok']\n" +
  "if found == 'none' then return { GONE } end\n" +
  "if found ~= 'string' then return { CONFLICT, found } end\n" +
  "local ttl_ms = redis.call('PTTL', mutex)\n" +
  "if ttl_ms == -1 then return { CONFLICT, 'a string without an expiry' } end\n" +
  'local shown = mutex_owner(mutex)\n' +
  "if not shown then return { CONFLICT, 'a string too long for a mutex' } end\n" +
  "if owner ~= '' and owner ~= shown then return { HELD, shown, ttl_ms } end\n" +
  "local receivers = revoke(mutex, mutex, line, '', channel, mode, mailbox, '')\n" +
  'leave_words(mutex, shown, words, ttl_ms)\n' +
  'return { RELEASED, shown, receivers }\n';

const adminForceReleaseMutexText: ScriptText = {
  name: 'admin.force-release-mutex',
  sha: '5716590989fc707ef95fe7b4259a515af10fb7de',
  source: adminForceReleaseMutexSource,
};

export interface AdminForceReleaseMutexInput {
  /** any type: what stands under the name */
  readonly mutex: string;
  /** hash: who waits, see include/line.lua */
  readonly line: string;
  /** from whom, as inspect shows it; empty: from whoever has it */
  readonly owner: string;
  /** where those listen who have no ticket */
  readonly channel: string;
  /** how to tell them: plain, sharded or both */
  readonly mode: string;
  /** the channel of a session, less its id; empty on a server of a quorum, which has no line */
  readonly mailbox: string;
  /** why, in the operator's words; told to the owner */
  readonly words: string;
}

export type AdminForceReleaseMutexOutcome =
  | { readonly is: 'RELEASED'; readonly owner: string; readonly receivers: number }
  | { readonly is: 'HELD'; readonly owner: string; readonly ttlMs: number }
  | { readonly is: 'GONE' }
  | { readonly is: 'CONFLICT'; readonly found: string };

/** Takes a mutex away from one owner or from whoever has it, and gives it to the next in line. */
export const adminForceReleaseMutex: Script<AdminForceReleaseMutexInput, AdminForceReleaseMutexOutcome> = {
  text: adminForceReleaseMutexText,
  call(input: AdminForceReleaseMutexInput): ScriptCall {
    return {
      script: adminForceReleaseMutexText,
      keys: [input.mutex, input.line],
      args: [input.owner, input.channel, input.mode, input.mailbox, input.words],
    };
  },
  decode(reply: Reply): AdminForceReleaseMutexOutcome {
    const items = openReply(adminForceReleaseMutexText, reply);
    switch (items[0]) {
      case OUTCOMES.RELEASED:
        requireItems(adminForceReleaseMutexText, items, 3);
        return {
          is: 'RELEASED',
          owner: stringAt(adminForceReleaseMutexText, items, 1),
          receivers: integerAt(adminForceReleaseMutexText, items, 2),
        };
      case OUTCOMES.HELD:
        requireItems(adminForceReleaseMutexText, items, 3);
        return {
          is: 'HELD',
          owner: stringAt(adminForceReleaseMutexText, items, 1),
          ttlMs: integerAt(adminForceReleaseMutexText, items, 2),
        };
      case OUTCOMES.GONE:
        requireItems(adminForceReleaseMutexText, items, 1);
        return { is: 'GONE' };
      case OUTCOMES.CONFLICT:
        requireItems(adminForceReleaseMutexText, items, 2);
        return { is: 'CONFLICT', found: stringAt(adminForceReleaseMutexText, items, 1) };
      default:
        return refuseReply(adminForceReleaseMutexText, reply);
    }
  },
};

const adminHealthSource =
  '#!lua flags=no-writes\n' +
  'local FOUND = 14\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function setting(section, name)\n' +
  "return string.match(redis.call('INFO', section), name .. ':([^\\r\\n]*)') or ''\n" +
  'end\n' +
  'local now_ms = server_now()\n' +
  'return {\n' +
  'FOUND,\n' +
  "setting('server', 'redis_version'),\n" +
  "setting('replication', 'role'),\n" +
  "setting('memory', 'maxmemory'),\n" +
  "setting('memory', 'maxmemory_policy'),\n" +
  "setting('server', 'uptime_in_seconds'),\n" +
  "setting('server', 'run_id'),\n" +
  'now_ms,\n' +
  '}\n';

const adminHealthText: ScriptText = {
  name: 'admin.health',
  sha: 'abdf6bb21ae5265654b5c48c6057f7c1ce7f9ed2',
  source: adminHealthSource,
};

export type AdminHealthOutcome = {
  readonly is: 'FOUND';
  readonly version: string;
  readonly role: string;
  readonly maxmemory: string;
  readonly policy: string;
  readonly uptimeS: string;
  readonly runId: string;
  readonly nowMs: number;
};

/** Tells the settings of a server that a lock depends on. */
export const adminHealth: Script<void, AdminHealthOutcome> = {
  text: adminHealthText,
  call(): ScriptCall {
    return { script: adminHealthText, keys: [], args: [] };
  },
  decode(reply: Reply): AdminHealthOutcome {
    const items = openReply(adminHealthText, reply);
    switch (items[0]) {
      case OUTCOMES.FOUND:
        requireItems(adminHealthText, items, 8);
        return {
          is: 'FOUND',
          version: stringAt(adminHealthText, items, 1),
          role: stringAt(adminHealthText, items, 2),
          maxmemory: stringAt(adminHealthText, items, 3),
          policy: stringAt(adminHealthText, items, 4),
          uptimeS: stringAt(adminHealthText, items, 5),
          runId: stringAt(adminHealthText, items, 6),
          nowMs: integerAt(adminHealthText, items, 7),
        };
      default:
        return refuseReply(adminHealthText, reply);
    }
  },
};

const adminInspectSource =
  '#!lua flags=no-writes\n' +
  'local ABSENT = 10\n' +
  'local FREE = 17\n' +
  'local LOCK = 11\n' +
  'local MUTEX = 12\n' +
  'local OTHER = 13\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function is_lock(field, ttl_ms)\n' +
  "if #field[1] > 1024 or #field[2] > 15 or not string.match(field[2], '^%d+$') then return false end\n" +
  "return ttl_ms >= 0 or string.match(field[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') ~= nil\n" +
  'end\n' +
  'local function mutex_owner(mutex)\n' +
  "if redis.call('STRLEN', mutex) > 1024 then return nil end\n" +
  "return redis.sha1hex(redis.call('GET', mutex))\n" +
  'end\n' +
  'local function tickets_in(line)\n' +
  "local fields = redis.pcall('HLEN', line)\n" +
  "if type(fields) == 'table' then return 0 end\n" +
  'return math.max(0, math.floor((fields - 8) / 2))\n' +
  'end\n' +
  'local function read_ticket(text)\n' +
  'local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =\n' +
  "string.match(text or '', '^(%S+) (%S+) (%d+) ([1-9]%d*) ([1-9]%d*) (%d+) (%d+) (%d+) (%a) (.*)$')\n" +
  'if not holder or #claim_ms > 12 or #fences > 9 then return nil end\n' +
  'return {\n' +
  'holder = holder,\n' +
  'echo = echo,\n' +
  'lease_ms = lease_ms,\n' +
  'claim_ms = claim_ms,\n' +
  'fences = fences,\n' +
  'fence_ttl_ms = fence_ttl_ms,\n' +
  'deadline_ms = deadline_ms,\n' +
  'since_ms = since_ms,\n' +
  'mode = mode,\n' +
  'channel = channel,\n' +
  '}\n' +
  'end\n' +
  'local function listeners_of(mode, channel)\n' +
  'local count = 0\n' +
  "if mode == 'plain' or mode == 'both' then count = redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0 end\n" +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local sharded = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0\n" +
  'if sharded > count then count = sharded end\n' +
  'end\n' +
  'return count\n' +
  'end\n' +
  'local function hears(ticket)\n' +
  "if ticket.mode == 'n' or ticket.mode == 'b' then return ticket.mode == 'b' end\n" +
  "return listeners_of(ticket.mode == 's' and 'sharded' or 'plain', ticket.channel) > 0\n" +
  'end\n' +
  'local function shown_line(line, shown_max, now_ms)\n' +
  "local ends = redis.pcall('HMGET', line, 'first', 'last', 'open', 'linger')\n" +
  "local place, last, open = tonumber(ends[1] or ''), tonumber(ends[2] or ''), tonumber(ends[3] or '')\n" +
  "if not place or not last or not open then return 0, '', 0, '' end\n" +
  "local tickets, shown, rows = tickets_in(line), 0, ''\n" +
  'local beyond = place + 1000\n' +
  'while place <= last and place < beyond and shown < shown_max do\n' +
  'local places = {}\n' +
  'for i = 1, math.min(100, shown_max) do places[i] = place + i - 1 end\n' +
  "local texts = redis.call('HMGET', line, unpack(places))\n" +
  'for i = 1, #places do\n' +
  'local ticket = read_ticket(texts[i])\n' +
  'if ticket and tonumber(ticket.deadline_ms) < now_ms then\n' +
  'tickets = tickets - 1\n' +
  'elseif ticket and shown < shown_max then\n' +
  'local waited_ms = math.max(0, now_ms - tonumber(ticket.since_ms))\n' +
  "local session = string.match(string.sub(ticket.channel, -36), '^[%x-]+$') or '?'\n" +
  "rows = rows .. string.format('%.0f %s %s\\n', waited_ms, hears(ticket) and 'h' or 'd', session)\n" +
  'shown = shown + 1\n' +
  'end\n' +
  'end\n' +
  'place = place + #places\n' +
  'end\n' +
  'local open_ms = open - now_ms\n' +
  'if open_ms < 0 or open_ms > 80 then open_ms = 0 end\n' +
  "return tickets, rows, open_ms, string.match(ends[4] or '', '^%S+') or ''\n" +
  'end\n' +
  'local name = KEYS[1]\n' +
  'local fence = KEYS[2]\n' +
  'local line = KEYS[3]\n' +
  'local lock_channel = ARGV[1]\n' +
  'local mutex_channel = ARGV[2]\n' +
  'local mode = ARGV[3]\n' +
  'local shown_max = tonumber(ARGV[4])\n' +
  'local now_ms = server_now()\n' +
  "local tickets, rows, open_ms, keeper = 0, '', 0, ''\n" +
  'if shown_max > 0 then\n' +
  'tickets, rows, open_ms, keeper = shown_line(line, shown_max, now_ms)\n' +
  'end\n' +
  "local found = redis.call('TYPE', name)['ok']\n" +
  "if found == 'none' then\n" +
  'if tickets == 0 then return { ABSENT } end\n' +
  'local listeners = listeners_of(mode, lock_channel) + listeners_of(mode, mutex_channel)\n' +
  'return { FREE, open_ms, tickets, listeners, rows }\n' +
  'end\n' +
  "local ttl_ms = redis.call('PTTL', name)\n" +
  "if found == 'string' and ttl_ms >= 0 then\n" +
  'local owner = mutex_owner(name)\n' +
  'if owner then\n' +
  "local may_linger = keeper ~= '' and redis.call('GET', name) == keeper and 1 or 0\n" +
  'return { MUTEX, owner, ttl_ms, tickets, listeners_of(mode, mutex_channel), rows, may_linger }\n' +
  'end\n' +
  'end\n' +
  "if found == 'hash' and redis.call('HLEN', name) == 1 then\n" +
  "local field = redis.call('HGETALL', name)\n" +
  "local last = redis.pcall('GET', fence)\n" +
  "if type(last) ~= 'string' or #last > 16 or not string.match(last, '^%d+$') then last = '' end\n" +
  'if is_lock(field, ttl_ms) then\n' +
  'local listeners, may_linger = listeners_of(mode, lock_channel), field[1] == keeper and 1 or 0\n' +
  'return { LOCK, field[1], field[2], ttl_ms, last, tickets, listeners, rows, may_linger }\n' +
  'end\n' +
  'end\n' +
  'return { OTHER, found, ttl_ms }\n';

const adminInspectText: ScriptText = {
  name: 'admin.inspect',
  sha: '3d2e3dfd8b2c5658ea839c6cd911d1e9f5aad302',
  source: adminInspectSource,
};

export interface AdminInspectInput {
  /** any type: what stands under the name */
  readonly name: string;
  /** string: the last fence given out */
  readonly fence: string;
  /** hash: who waits, see include/line.lua */
  readonly line: string;
  /** where those who wait for a lock listen, if they have no ticket */
  readonly lockChannel: string;
  /** the same for a mutex */
  readonly mutexChannel: string;
  /** how they listen: plain, sharded or both */
  readonly mode: string;
  /** how many tickets to show at most; 0 where there is no line */
  readonly shownMax: number;
}

export type AdminInspectOutcome =
  | { readonly is: 'ABSENT' }
  | {
      readonly is: 'FREE';
      readonly openMs: number;
      readonly tickets: number;
      readonly listeners: number;
      readonly line: string;
    }
  | {
      readonly is: 'LOCK';
      readonly owner: string;
      readonly count: string;
      readonly ttlMs: number;
      readonly fence: string;
      readonly tickets: number;
      readonly listeners: number;
      readonly line: string;
      readonly mayLinger: number;
    }
  | {
      readonly is: 'MUTEX';
      readonly owner: string;
      readonly ttlMs: number;
      readonly tickets: number;
      readonly listeners: number;
      readonly line: string;
      readonly mayLinger: number;
    }
  | { readonly is: 'OTHER'; readonly found: string; readonly ttlMs: number };

/** Tells what a name holds right now, and who waits for it. */
export const adminInspect: Script<AdminInspectInput, AdminInspectOutcome> = {
  text: adminInspectText,
  call(input: AdminInspectInput): ScriptCall {
    return {
      script: adminInspectText,
      keys: [input.name, input.fence, input.line],
      args: [input.lockChannel, input.mutexChannel, input.mode, String(input.shownMax)],
    };
  },
  decode(reply: Reply): AdminInspectOutcome {
    const items = openReply(adminInspectText, reply);
    switch (items[0]) {
      case OUTCOMES.ABSENT:
        requireItems(adminInspectText, items, 1);
        return { is: 'ABSENT' };
      case OUTCOMES.FREE:
        requireItems(adminInspectText, items, 5);
        return {
          is: 'FREE',
          openMs: integerAt(adminInspectText, items, 1),
          tickets: integerAt(adminInspectText, items, 2),
          listeners: integerAt(adminInspectText, items, 3),
          line: stringAt(adminInspectText, items, 4),
        };
      case OUTCOMES.LOCK:
        requireItems(adminInspectText, items, 9);
        return {
          is: 'LOCK',
          owner: stringAt(adminInspectText, items, 1),
          count: stringAt(adminInspectText, items, 2),
          ttlMs: integerAt(adminInspectText, items, 3),
          fence: stringAt(adminInspectText, items, 4),
          tickets: integerAt(adminInspectText, items, 5),
          listeners: integerAt(adminInspectText, items, 6),
          line: stringAt(adminInspectText, items, 7),
          mayLinger: integerAt(adminInspectText, items, 8),
        };
      case OUTCOMES.MUTEX:
        requireItems(adminInspectText, items, 7);
        return {
          is: 'MUTEX',
          owner: stringAt(adminInspectText, items, 1),
          ttlMs: integerAt(adminInspectText, items, 2),
          tickets: integerAt(adminInspectText, items, 3),
          listeners: integerAt(adminInspectText, items, 4),
          line: stringAt(adminInspectText, items, 5),
          mayLinger: integerAt(adminInspectText, items, 6),
        };
      case OUTCOMES.OTHER:
        requireItems(adminInspectText, items, 3);
        return {
          is: 'OTHER',
          found: stringAt(adminInspectText, items, 1),
          ttlMs: integerAt(adminInspectText, items, 2),
        };
      default:
        return refuseReply(adminInspectText, reply);
    }
  },
};

const adminReadSessionSource =
  '#!lua flags=no-writes\n' +
  'local FOUND = 14\n' +
  'local ABSENT = 10\n' +
  'local record = KEYS[1]\n' +
  'local function is_ours(value)\n' +
  "return value and value ~= '' and #value <= 1024\n" +
  'end\n' +
  "local found = redis.call('HMGET', record, 'application', 'host', 'pid')\n" +
  'local application = found[1]\n' +
  'local host = found[2]\n' +
  'local pid = found[3]\n' +
  "if is_ours(application) and is_ours(host) and pid and #pid <= 15 and string.match(pid, '^%d+$') then\n" +
  'return { FOUND, application, host, pid }\n' +
  'end\n' +
  'return { ABSENT }\n';

const adminReadSessionText: ScriptText = {
  name: 'admin.read-session',
  sha: '626fa8fc894e44f80b65809cc5f3296443145fc6',
  source: adminReadSessionSource,
};

export interface AdminReadSessionInput {
  /** hash: application, host, pid */
  readonly record: string;
}

export type AdminReadSessionOutcome =
  | { readonly is: 'FOUND'; readonly application: string; readonly host: string; readonly pid: string }
  | { readonly is: 'ABSENT' };

/** Tells who a session is: the three fields of its record, whatever else stands beside them. */
export const adminReadSession: Script<AdminReadSessionInput, AdminReadSessionOutcome> = {
  text: adminReadSessionText,
  call(input: AdminReadSessionInput): ScriptCall {
    return { script: adminReadSessionText, keys: [input.record], args: [] };
  },
  decode(reply: Reply): AdminReadSessionOutcome {
    const items = openReply(adminReadSessionText, reply);
    switch (items[0]) {
      case OUTCOMES.FOUND:
        requireItems(adminReadSessionText, items, 4);
        return {
          is: 'FOUND',
          application: stringAt(adminReadSessionText, items, 1),
          host: stringAt(adminReadSessionText, items, 2),
          pid: stringAt(adminReadSessionText, items, 3),
        };
      case OUTCOMES.ABSENT:
        requireItems(adminReadSessionText, items, 1);
        return { is: 'ABSENT' };
      default:
        return refuseReply(adminReadSessionText, reply);
    }
  },
};

const adminScanSource =
  '#!lua flags=no-writes,allow-cross-slot-keys\n' +
  'local FOUND = 14\n' +
  'local cursor = ARGV[1]\n' +
  'local pattern = ARGV[2]\n' +
  'local count = tonumber(ARGV[3])\n' +
  'local key_bytes_max = tonumber(ARGV[4])\n' +
  'local wants_all = tonumber(ARGV[5])\n' +
  'local function is_mutex(key)\n' +
  "local bytes = redis.call('STRLEN', key)\n" +
  'local is_foreign = wants_all == 1 and bytes >= 22 and bytes <= 64\n' +
  'if bytes ~= 41 and not is_foreign then return false end\n' +
  "if redis.call('PTTL', key) == -1 then return false end\n" +
  "local value = redis.call('GET', key)\n" +
  "if bytes == 41 and string.match(value, '^[0-9a-f]+:holdfast$') then return true end\n" +
  "return is_foreign and string.match(value, '^[%w+/_-]+=?=?$') ~= nil\n" +
  'end\n' +
  'local function is_lock(key)\n' +
  "if redis.call('HLEN', key) ~= 1 then return false end\n" +
  "return string.match(redis.call('HKEYS', key)[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') ~= nil\n" +
  'end\n' +
  "local page = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', count)\n" +
  'local reply = { FOUND, page[1] }\n' +
  'for i = 1, #page[2] do\n' +
  'local key = page[2][i]\n' +
  'if #key <= key_bytes_max then\n' +
  "local found = redis.pcall('TYPE', key)\n" +
  "local is_told = found['err'] ~= nil\n" +
  "if found['ok'] == 'string' then is_told = is_mutex(key) end\n" +
  "if found['ok'] == 'hash' then is_told = is_lock(key) end\n" +
  'if is_told then reply[#reply + 1] = key end\n' +
  'end\n' +
  'end\n' +
  'return reply\n';

const adminScanText: ScriptText = {
  name: 'admin.scan',
  sha: 'a6da2516dd183b0c102befbd98f159b983bc52d2',
  source: adminScanSource,
};

export interface AdminScanInput {
  /** '0' to begin, then what the last step answered */
  readonly cursor: string;
  /** a glob */
  readonly pattern: string;
  /** how many keys to look at */
  readonly count: number;
  /** no lock has a longer key */
  readonly keyBytesMax: number;
  /** 1 for strings too that other libraries may use as a mutex */
  readonly wantsAll: number;
}

export type AdminScanOutcome = {
  readonly is: 'FOUND';
  readonly cursor: string;
  readonly keys: readonly string[];
};

/** One step of a walk over the key space: the keys that look like a lock or a mutex, by little of what they hold. */
export const adminScan: Script<AdminScanInput, AdminScanOutcome> = {
  text: adminScanText,
  call(input: AdminScanInput): ScriptCall {
    return {
      script: adminScanText,
      keys: [],
      args: [
        input.cursor,
        input.pattern,
        String(input.count),
        String(input.keyBytesMax),
        String(input.wantsAll),
      ],
    };
  },
  decode(reply: Reply): AdminScanOutcome {
    const items = openReply(adminScanText, reply);
    switch (items[0]) {
      case OUTCOMES.FOUND:
        return {
          is: 'FOUND',
          cursor: stringAt(adminScanText, items, 1),
          keys: stringsFrom(adminScanText, items, 2),
        };
      default:
        return refuseReply(adminScanText, reply);
    }
  },
};

const adminScanJobsSource =
  '#!lua flags=no-writes,allow-cross-slot-keys\n' +
  'local FOUND = 14\n' +
  'local cursor = ARGV[1]\n' +
  'local pattern = ARGV[2]\n' +
  'local count = tonumber(ARGV[3])\n' +
  "local page = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', count)\n" +
  'local reply = { FOUND, page[1] }\n' +
  'for i = 1, #page[2] do\n' +
  'local key = page[2][i]\n' +
  "local slot = redis.pcall('HMGET', key, 'slot')\n" +
  "if slot['err'] == nil and slot[1] or (slot['err'] and string.sub(slot['err'], 1, 9) ~= 'WRONGTYPE') then reply[#reply + 1] = key end\n" +
  'end\n' +
  'return reply\n';

const adminScanJobsText: ScriptText = {
  name: 'admin.scan-jobs',
  sha: '3b5a641a19486ccb240e555a457e545a6935a823',
  source: adminScanJobsSource,
};

export interface AdminScanJobsInput {
  /** '0' to begin, then what the last step answered */
  readonly cursor: string;
  /** a glob */
  readonly pattern: string;
  /** how many keys to look at */
  readonly count: number;
}

export type AdminScanJobsOutcome = {
  readonly is: 'FOUND';
  readonly cursor: string;
  readonly keys: readonly string[];
};

/** One step of a walk over the key space: the keys that look like the marker of a job. */
export const adminScanJobs: Script<AdminScanJobsInput, AdminScanJobsOutcome> = {
  text: adminScanJobsText,
  call(input: AdminScanJobsInput): ScriptCall {
    return { script: adminScanJobsText, keys: [], args: [input.cursor, input.pattern, String(input.count)] };
  },
  decode(reply: Reply): AdminScanJobsOutcome {
    const items = openReply(adminScanJobsText, reply);
    switch (items[0]) {
      case OUTCOMES.FOUND:
        return {
          is: 'FOUND',
          cursor: stringAt(adminScanJobsText, items, 1),
          keys: stringsFrom(adminScanJobsText, items, 2),
        };
      default:
        return refuseReply(adminScanJobsText, reply);
    }
  },
};

const jobFinishSource =
  '#!lua flags=allow-oom\n' +
  'local ENDED = 37\n' +
  'local RELEASED = 5\n' +
  'local GONE = 6\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function notify(mode, channel, message)\n' +
  'local receivers = 0\n' +
  "if mode == 'plain' or mode == 'both' then\n" +
  "local heard = redis.pcall('PUBLISH', channel, message)\n" +
  "if type(heard) == 'number' then receivers = heard end\n" +
  'end\n' +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local heard = redis.pcall('SPUBLISH', channel, message)\n" +
  "if type(heard) == 'number' and heard > receivers then receivers = heard end\n" +
  'end\n' +
  'return receivers\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local job = KEYS[2]\n' +
  'local holder = ARGV[1]\n' +
  'local slot_ms = tonumber(ARGV[2])\n' +
  'local attempt = tonumber(ARGV[3])\n' +
  'local state = ARGV[4]\n' +
  'local text = ARGV[5]\n' +
  'local retry_ms = tonumber(ARGV[6])\n' +
  'local channel = ARGV[7]\n' +
  'local mode = ARGV[8]\n' +
  "local was_owner = redis.pcall('HDEL', lock, holder) == 1\n" +
  "local receivers = was_owner and notify(mode, channel, '0') or 0\n" +
  "local marker = redis.pcall('HMGET', job, 'owner', 'slot', 'attempt', 'state')\n" +
  "local is_run = not marker['err'] and marker[1] == holder and (slot_ms == 0 or tonumber(marker[2]) == slot_ms)\n" +
  'if is_run and attempt > 0 then is_run = tonumber(marker[3]) == attempt end\n' +
  "local is_open = marker[4] == 'running' or (marker[4] == 'dead' and state ~= 'withdrawn')\n" +
  "if is_run and state ~= '' and (is_open or marker[4] == state) then\n" +
  'local now_ms = server_now()\n' +
  "if state == 'withdrawn' then\n" +
  "redis.call('HSET', job, 'state', 'retry', 'attempt', tonumber(marker[3]) - 1, 'ended', now_ms, 'free', 0)\n" +
  'elseif is_open then\n' +
  "redis.call('HSET', job, 'state', state, 'ended', now_ms, 'error', text)\n" +
  "if state == 'retry' then redis.call('HSET', job, 'free', now_ms + retry_ms) end\n" +
  'end\n' +
  'return { ENDED, receivers }\n' +
  'end\n' +
  'if was_owner then return { RELEASED, receivers } end\n' +
  'return { GONE }\n';

const jobFinishText: ScriptText = {
  name: 'job.finish',
  sha: 'e2cbe3b8436a44545f9a6e842ff155760fdae454',
  source: jobFinishSource,
};

export interface JobFinishInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** hash: the marker, see include/job.lua */
  readonly job: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** ms of server time: the slot that ran, 0 where it is not known */
  readonly slotMs: number;
  /** the attempt that ran, 0 where it is not known */
  readonly attempt: number;
  /** done, failed, retry; withdrawn for a start that no run followed; empty to record nothing */
  readonly state: string;
  /** the error of a run that failed */
  readonly text: string;
  /** ms: how long until the next attempt */
  readonly retryMs: number;
  /** where those who wait listen */
  readonly channel: string;
  /** how to tell them: nobody, plain, sharded or both */
  readonly mode: string;
}

export type JobFinishOutcome =
  | { readonly is: 'ENDED'; readonly receivers: number }
  | { readonly is: 'RELEASED'; readonly receivers: number }
  | { readonly is: 'GONE' };

/** Ends a run of a job: frees its lock and records how the run ended. Fields that are not ours stay. */
export const jobFinish: Script<JobFinishInput, JobFinishOutcome> = {
  text: jobFinishText,
  call(input: JobFinishInput): ScriptCall {
    return {
      script: jobFinishText,
      keys: [input.lock, input.job],
      args: [
        input.holder,
        String(input.slotMs),
        String(input.attempt),
        input.state,
        input.text,
        String(input.retryMs),
        input.channel,
        input.mode,
      ],
    };
  },
  decode(reply: Reply): JobFinishOutcome {
    const items = openReply(jobFinishText, reply);
    switch (items[0]) {
      case OUTCOMES.ENDED:
        requireItems(jobFinishText, items, 2);
        return { is: 'ENDED', receivers: integerAt(jobFinishText, items, 1) };
      case OUTCOMES.RELEASED:
        requireItems(jobFinishText, items, 2);
        return { is: 'RELEASED', receivers: integerAt(jobFinishText, items, 1) };
      case OUTCOMES.GONE:
        requireItems(jobFinishText, items, 1);
        return { is: 'GONE' };
      default:
        return refuseReply(jobFinishText, reply);
    }
  },
};

const jobReadSource =
  '#!lua flags=no-writes\n' +
  'local JOB = 38\n' +
  'local ABSENT = 10\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local job = KEYS[1]\n' +
  'local lock = KEYS[2]\n' +
  'local now_ms = server_now()\n' +
  "local names = { 'slot', 'state', 'attempt', 'owner', 'fence', 'host', 'began', 'ended', 'error', 'spec', 'next' }\n" +
  "local found = redis.pcall('HMGET', job, unpack(names))\n" +
  "if found['err'] or not found[1] or #found[1] > 15 or not string.match(found[1], '^%d+$') then return { ABSENT, now_ms } end\n" +
  'local w = {}\n' +
  "for i = 1, #names do w[i] = string.sub(found[i] or '', 1, 2048) end\n" +
  "if w[2] == 'running' and redis.pcall('HEXISTS', lock, w[4]) ~= 1 then w[2] = 'dead' end\n" +
  'return { JOB, now_ms, w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11] }\n';

const jobReadText: ScriptText = {
  name: 'job.read',
  sha: 'dddb9f97651aa8504856153602609f08b52e3fc1',
  source: jobReadSource,
};

export interface JobReadInput {
  /** hash: the marker, see include/job.lua */
  readonly job: string;
  /** hash: one field, holder -> hold count */
  readonly lock: string;
}

export type JobReadOutcome =
  | {
      readonly is: 'JOB';
      readonly nowMs: number;
      readonly slot: string;
      readonly state: string;
      readonly attempt: string;
      readonly owner: string;
      readonly fence: string;
      readonly host: string;
      readonly began: string;
      readonly ended: string;
      readonly text: string;
      readonly spec: string;
      readonly next: string;
    }
  | { readonly is: 'ABSENT'; readonly nowMs: number };

/** Tells what is known of a job: its last run and its next slot. */
export const jobRead: Script<JobReadInput, JobReadOutcome> = {
  text: jobReadText,
  call(input: JobReadInput): ScriptCall {
    return { script: jobReadText, keys: [input.job, input.lock], args: [] };
  },
  decode(reply: Reply): JobReadOutcome {
    const items = openReply(jobReadText, reply);
    switch (items[0]) {
      case OUTCOMES.JOB:
        requireItems(jobReadText, items, 13);
        return {
          is: 'JOB',
          nowMs: integerAt(jobReadText, items, 1),
          slot: stringAt(jobReadText, items, 2),
          state: stringAt(jobReadText, items, 3),
          attempt: stringAt(jobReadText, items, 4),
          owner: stringAt(jobReadText, items, 5),
          fence: stringAt(jobReadText, items, 6),
          host: stringAt(jobReadText, items, 7),
          began: stringAt(jobReadText, items, 8),
          ended: stringAt(jobReadText, items, 9),
          text: stringAt(jobReadText, items, 10),
          spec: stringAt(jobReadText, items, 11),
          next: stringAt(jobReadText, items, 12),
        };
      case OUTCOMES.ABSENT:
        requireItems(jobReadText, items, 2);
        return { is: 'ABSENT', nowMs: integerAt(jobReadText, items, 1) };
      default:
        return refuseReply(jobReadText, reply);
    }
  },
};

const jobStartSource =
  '#!lua\n' +
  'local STARTED = 20\n' +
  'local DONE = 21\n' +
  'local RUNNING = 25\n' +
  'local EARLY = 33\n' +
  'local STALE = 34\n' +
  'local PASSED = 35\n' +
  'local RESTING = 36\n' +
  'local HELD = 2\n' +
  'local LATE = 3\n' +
  'local CONFLICT = 4\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  'return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms\n' +
  'end\n' +
  'local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if ttl_ms == 0 then return redis.pcall('SET', fence, last) end\n" +
  'local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  "local left_ms = text and redis.call('PTTL', fence) or 0\n" +
  "if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end\n" +
  "return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)\n" +
  'end\n' +
  'local function next_fences(fence, count, now_us, common_us)\n' +
  "local text = redis.pcall('GET', fence)\n" +
  "if type(text) == 'table' then return nil end\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored or stored + count > 9007199254740991 then return nil end\n' +
  'local earliest_us = stored > 0 and now_us - 20000 or now_us\n' +
  'local from_us = now_us\n' +
  'if common_us >= earliest_us and common_us <= now_us + 100000 then from_us = common_us end\n' +
  'local first = math.max(stored + 1, from_us)\n' +
  'return first, math.max(first, math.min(first + count - 1, from_us + 1000)), text\n' +
  'end\n' +
  'local function reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)\n' +
  'local first, last, text = next_fences(fence, count, now_us, common_us)\n' +
  'if not first then\n' +
  "redis.call('GET', fence)\n" +
  "error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })\n" +
  'end\n' +
  'local reply = store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if reply['err'] then error(reply) end\n" +
  'return first, last - first + 1\n' +
  'end\n' +
  'local function hold_lock(lock, fence, holder, lease_ms, fences, fence_ttl_ms, now_ms, now_us, common_us)\n' +
  'require_expiry(lock, lease_ms)\n' +
  'local first, given = reserve_fences(fence, fences, fence_ttl_ms, now_ms, now_us, tonumber(lease_ms), common_us)\n' +
  "redis.call('HSET', lock, holder, '1')\n" +
  "redis.call('PEXPIRE', lock, lease_ms)\n" +
  'return first, given\n' +
  'end\n' +
  'local function found_instead(failure, key)\n' +
  "if not string.match(failure['err'], '^WRONGTYPE') then error(failure) end\n" +
  "local found = redis.pcall('TYPE', key)\n" +
  "if found['err'] then return 'a value of another type' end\n" +
  "return 'a ' .. found['ok']\n" +
  'end\n' +
  'local function is_lock(field, ttl_ms)\n' +
  "if #field[1] > 1024 or #field[2] > 15 or not string.match(field[2], '^%d+$') then return false end\n" +
  "return ttl_ms >= 0 or string.match(field[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') ~= nil\n" +
  'end\n' +
  'local function read_job(job)\n' +
  "local fields = redis.pcall('HMGET', job, 'slot', 'state', 'attempt', 'owner', 'fence', 'host', 'free', 'spec')\n" +
  "if fields['err'] then return nil, found_instead(fields, job) end\n" +
  'local words = {}\n' +
  "for i = 1, 8 do words[i] = fields[i] or '' end\n" +
  'return {\n' +
  'slot = tonumber(words[1]) or 0,\n' +
  'state = words[2],\n' +
  'attempt = tonumber(words[3]) or 0,\n' +
  'owner = words[4],\n' +
  'fence = tonumber(words[5]) or 0,\n' +
  'host = words[6],\n' +
  'free = tonumber(words[7]) or 0,\n' +
  'spec = words[8],\n' +
  '}\n' +
  'end\n' +
  'local function lock_owner(lock)\n' +
  "local ttl_ms = redis.call('PTTL', lock)\n" +
  'if ttl_ms == -2 then return nil, 0 end\n' +
  "local fields = redis.pcall('HLEN', lock)\n" +
  "if type(fields) == 'table' then return nil, 0, found_instead(fields, lock) end\n" +
  "local field = redis.call('HGETALL', lock)\n" +
  "if fields ~= 1 or not is_lock(field, ttl_ms) then return nil, 0, 'a hash that is not a lock' end\n" +
  'return field[1], ttl_ms\n' +
  'end\n' +
  'local OVER = { done = true, failed = true, missed = true, dead = true, baseline = true }\n' +
  'local RETRY_MS_MAX = 30000\n' +
  'local KEEP_MS = 604800000\n' +
  'local function write_job(job, next_ms, now_ms, fields)\n' +
  "redis.call('HSET', job, unpack(fields))\n" +
  "redis.call('PEXPIRE', job, math.max(next_ms - now_ms, 0) + KEEP_MS)\n" +
  'end\n' +
  'local function rest_of(marker, max_ms, now_ms)\n' +
  'return math.max(0, math.min(marker.free - now_ms, max_ms))\n' +
  'end\n' +
  'local function same_slot(job, marker, owner, attempts, next_ms, now_ms)\n' +
  'if OVER[marker.state] then return marker.state end\n' +
  "if owner then return 'running' end\n" +
  "if now_ms < marker.slot then return 'early' end\n" +
  'if marker.attempt >= attempts then\n' +
  "write_job(job, next_ms, now_ms, { 'state', 'dead', 'ended', now_ms })\n" +
  "return 'dead'\n" +
  'end\n' +
  "return nil, marker.state == 'retry' and rest_of(marker, RETRY_MS_MAX, now_ms) or 0\n" +
  'end\n' +
  'local function write_end(job, state, slot_ms, next_ms, spec, now_ms)\n' +
  "write_job(job, next_ms, now_ms, { 'slot', slot_ms, 'state', state, 'attempt', 0, 'owner', '', 'spec', spec, 'next', next_ms })\n" +
  'return state\n' +
  'end\n' +
  'local function new_slot(job, marker, slot_ms, next_ms, late_ms, is_known, owner, spec, now_ms)\n' +
  "if now_ms < slot_ms then return 'early' end\n" +
  "if next_ms > 0 and now_ms >= next_ms then return 'stale' end\n" +
  'if marker.slot == 0 and is_known == 0 then\n' +
  "return write_end(job, 'baseline', slot_ms, next_ms, spec, now_ms)\n" +
  'end\n' +
  "if owner then return 'held' end\n" +
  'if late_ms >= 0 and now_ms > slot_ms + late_ms then\n' +
  "return write_end(job, 'missed', slot_ms, next_ms, spec, now_ms)\n" +
  'end\n' +
  'return nil\n' +
  'end\n' +
  'local function write_start(job, marker, slot_ms, attempt, holder, first, host, now_ms, rest_ms, spec, next_ms)\n' +
  "if spec == '' then spec = marker.spec end\n" +
  "if next_ms == 0 then next_ms = tonumber(redis.call('HMGET', job, 'next')[1] or '') or 0 end\n" +
  "local run = { 'slot', slot_ms, 'state', 'running', 'attempt', attempt, 'owner', holder, 'fence', first, 'host', host }\n" +
  "local times = { 'began', now_ms, 'ended', 0, 'free', now_ms + rest_ms, 'error', '', 'spec', spec, 'next', next_ms }\n" +
  'for i = 1, #times do run[#run + 1] = times[i] end\n' +
  'write_job(job, next_ms, now_ms, run)\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local fence = KEYS[2]\n' +
  'local job = KEYS[3]\n' +
  'local holder = ARGV[1]\n' +
  'local lease_ms = ARGV[2]\n' +
  'local fence_ttl_ms = tonumber(ARGV[3])\n' +
  'local not_after_ms = tonumber(ARGV[4])\n' +
  'local slot_ms = tonumber(ARGV[5])\n' +
  'local next_ms = tonumber(ARGV[6])\n' +
  'local late_ms = tonumber(ARGV[7])\n' +
  'local attempts = tonumber(ARGV[8])\n' +
  'local rest_ms = tonumber(ARGV[9])\n' +
  'local is_known = tonumber(ARGV[10])\n' +
  'local host = ARGV[11]\n' +
  'local spec = ARGV[12]\n' +
  'local now_ms, now_us = server_now()\n' +
  'if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end\n' +
  'local marker, no_marker = read_job(job)\n' +
  'if no_marker then return { CONFLICT, now_ms, no_marker } end\n' +
  'local owner, ttl_ms, no_lock = lock_owner(lock)\n' +
  'if no_lock then return { CONFLICT, now_ms, no_lock } end\n' +
  'require_expiry(job, lease_ms)\n' +
  "if marker.owner == holder and marker.state ~= 'running' then return { DONE, now_ms, marker.state, marker.host, marker.spec } end\n" +
  'if marker.owner == holder and owner == holder then\n' +
  "if ttl_ms < tonumber(lease_ms) then redis.call('PEXPIRE', lock, lease_ms) end\n" +
  'return { STARTED, now_ms, marker.slot, marker.attempt, marker.fence, marker.spec }\n' +
  'end\n' +
  'local attempt, rest, answer = 1, 0, nil\n' +
  'if slot_ms == 0 then\n' +
  'slot_ms = math.max(now_ms, marker.slot + 1)\n' +
  "answer = owner and 'held'\n" +
  'elseif marker.slot > slot_ms then\n' +
  'return { PASSED, now_ms, marker.slot, marker.spec }\n' +
  "elseif marker.slot == slot_ms and (marker.state ~= 'baseline' or is_known == 0) then\n" +
  'answer, rest = same_slot(job, marker, owner, attempts, next_ms, now_ms)\n' +
  'attempt = marker.attempt + 1\n' +
  'else\n' +
  'answer = new_slot(job, marker, slot_ms, next_ms, late_ms, is_known, owner, spec, now_ms)\n' +
  'rest = rest_of(marker, rest_ms, now_ms)\n' +
  'end\n' +
  "if answer == 'early' then return { EARLY, now_ms } end\n" +
  "if answer == 'held' then return { HELD, now_ms, ttl_ms, owner } end\n" +
  "if answer == 'running' then return { RUNNING, now_ms, ttl_ms, marker.host, marker.spec } end\n" +
  "if answer and answer ~= 'stale' then return { DONE, now_ms, answer, marker.host, marker.spec } end\n" +
  "if answer == 'stale' or (next_ms > 0 and now_ms >= next_ms) then return { STALE, now_ms } end\n" +
  'if rest > 0 then return { RESTING, now_ms, rest } end\n' +
  'local first = hold_lock(lock, fence, holder, lease_ms, 1, fence_ttl_ms, now_ms, now_us, 0)\n' +
  'write_start(job, marker, slot_ms, attempt, holder, first, host, now_ms, rest_ms, spec, next_ms)\n' +
  'return { STARTED, now_ms, slot_ms, attempt, first, marker.spec }\n';

const jobStartText: ScriptText = {
  name: 'job.start',
  sha: '93f02c16d1c1cd2d0f3491679b4e57ab91432480',
  source: jobStartSource,
};

export interface JobStartInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** string: the last fence given out */
  readonly fence: string;
  /** hash: the marker, see include/job.lua */
  readonly job: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** ms */
  readonly leaseMs: number;
  /** ms: how long the counter outlives the lease and its last fence, 0 for ever */
  readonly fenceTtlMs: number;
  /** ms of server time: refuse when later, 0 never */
  readonly notAfterMs: number;
  /** ms of server time: the slot; 0 for a run outside of the schedule, now */
  readonly slotMs: number;
  /** ms of server time: the slot after it, 0 where there is none */
  readonly nextMs: number;
  /** ms: how long after its time the slot may start; -1 while it is the newest */
  readonly lateMs: number;
  /** how often one slot may start */
  readonly attempts: number;
  /** ms: at least this long from a start to the start of the next slot */
  readonly restMs: number;
  /** 1 if the process has seen the server's time before the slot */
  readonly isKnown: number;
  /** where this is, for those who look at the job */
  readonly host: string;
  /** the schedule in words; empty to keep what is there */
  readonly spec: string;
}

export type JobStartOutcome =
  | {
      readonly is: 'STARTED';
      readonly nowMs: number;
      readonly slotMs: number;
      readonly attempt: number;
      readonly fence: number;
      readonly spec: string;
    }
  | {
      readonly is: 'DONE';
      readonly nowMs: number;
      readonly state: string;
      readonly host: string;
      readonly spec: string;
    }
  | {
      readonly is: 'RUNNING';
      readonly nowMs: number;
      readonly ttlMs: number;
      readonly host: string;
      readonly spec: string;
    }
  | { readonly is: 'EARLY'; readonly nowMs: number }
  | { readonly is: 'STALE'; readonly nowMs: number }
  | { readonly is: 'PASSED'; readonly nowMs: number; readonly slotMs: number; readonly spec: string }
  | { readonly is: 'RESTING'; readonly nowMs: number; readonly restMs: number }
  | { readonly is: 'HELD'; readonly nowMs: number; readonly ttlMs: number; readonly owner: string }
  | { readonly is: 'LATE'; readonly nowMs: number }
  | { readonly is: 'CONFLICT'; readonly nowMs: number; readonly found: string };

/** Starts a slot of a job under the job's lock, or says why the slot does not start now. */
export const jobStart: Script<JobStartInput, JobStartOutcome> = {
  text: jobStartText,
  call(input: JobStartInput): ScriptCall {
    return {
      script: jobStartText,
      keys: [input.lock, input.fence, input.job],
      args: [
        input.holder,
        String(input.leaseMs),
        String(input.fenceTtlMs),
        String(input.notAfterMs),
        String(input.slotMs),
        String(input.nextMs),
        String(input.lateMs),
        String(input.attempts),
        String(input.restMs),
        String(input.isKnown),
        input.host,
        input.spec,
      ],
    };
  },
  decode(reply: Reply): JobStartOutcome {
    const items = openReply(jobStartText, reply);
    switch (items[0]) {
      case OUTCOMES.STARTED:
        requireItems(jobStartText, items, 6);
        return {
          is: 'STARTED',
          nowMs: integerAt(jobStartText, items, 1),
          slotMs: integerAt(jobStartText, items, 2),
          attempt: integerAt(jobStartText, items, 3),
          fence: integerAt(jobStartText, items, 4),
          spec: stringAt(jobStartText, items, 5),
        };
      case OUTCOMES.DONE:
        requireItems(jobStartText, items, 5);
        return {
          is: 'DONE',
          nowMs: integerAt(jobStartText, items, 1),
          state: stringAt(jobStartText, items, 2),
          host: stringAt(jobStartText, items, 3),
          spec: stringAt(jobStartText, items, 4),
        };
      case OUTCOMES.RUNNING:
        requireItems(jobStartText, items, 5);
        return {
          is: 'RUNNING',
          nowMs: integerAt(jobStartText, items, 1),
          ttlMs: integerAt(jobStartText, items, 2),
          host: stringAt(jobStartText, items, 3),
          spec: stringAt(jobStartText, items, 4),
        };
      case OUTCOMES.EARLY:
        requireItems(jobStartText, items, 2);
        return { is: 'EARLY', nowMs: integerAt(jobStartText, items, 1) };
      case OUTCOMES.STALE:
        requireItems(jobStartText, items, 2);
        return { is: 'STALE', nowMs: integerAt(jobStartText, items, 1) };
      case OUTCOMES.PASSED:
        requireItems(jobStartText, items, 4);
        return {
          is: 'PASSED',
          nowMs: integerAt(jobStartText, items, 1),
          slotMs: integerAt(jobStartText, items, 2),
          spec: stringAt(jobStartText, items, 3),
        };
      case OUTCOMES.RESTING:
        requireItems(jobStartText, items, 3);
        return {
          is: 'RESTING',
          nowMs: integerAt(jobStartText, items, 1),
          restMs: integerAt(jobStartText, items, 2),
        };
      case OUTCOMES.HELD:
        requireItems(jobStartText, items, 4);
        return {
          is: 'HELD',
          nowMs: integerAt(jobStartText, items, 1),
          ttlMs: integerAt(jobStartText, items, 2),
          owner: stringAt(jobStartText, items, 3),
        };
      case OUTCOMES.LATE:
        requireItems(jobStartText, items, 2);
        return { is: 'LATE', nowMs: integerAt(jobStartText, items, 1) };
      case OUTCOMES.CONFLICT:
        requireItems(jobStartText, items, 3);
        return {
          is: 'CONFLICT',
          nowMs: integerAt(jobStartText, items, 1),
          found: stringAt(jobStartText, items, 2),
        };
      default:
        return refuseReply(jobStartText, reply);
    }
  },
};

const lockAcquireSource =
  '#!lua\n' +
  'local GRANTED = 1\n' +
  'local HELD = 2\n' +
  'local LATE = 3\n' +
  'local CONFLICT = 4\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function has_line(line)\n' +
  "return redis.pcall('HLEN', line) ~= 0\n" +
  'end\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  'return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms\n' +
  'end\n' +
  'local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if ttl_ms == 0 then return redis.pcall('SET', fence, last) end\n" +
  'local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  "local left_ms = text and redis.call('PTTL', fence) or 0\n" +
  "if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end\n" +
  "return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)\n" +
  'end\n' +
  'local function next_fences(fence, count, now_us, common_us)\n' +
  "local text = redis.pcall('GET', fence)\n" +
  "if type(text) == 'table' then return nil end\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored or stored + count > 9007199254740991 then return nil end\n' +
  'local earliest_us = stored > 0 and now_us - 20000 or now_us\n' +
  'local from_us = now_us\n' +
  'if common_us >= earliest_us and common_us <= now_us + 100000 then from_us = common_us end\n' +
  'local first = math.max(stored + 1, from_us)\n' +
  'return first, math.max(first, math.min(first + count - 1, from_us + 1000)), text\n' +
  'end\n' +
  'local function reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)\n' +
  'local first, last, text = next_fences(fence, count, now_us, common_us)\n' +
  'if not first then\n' +
  "redis.call('GET', fence)\n" +
  "error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })\n" +
  'end\n' +
  'local reply = store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if reply['err'] then error(reply) end\n" +
  'return first, last - first + 1\n' +
  'end\n' +
  'local function hold_lock(lock, fence, holder, lease_ms, fences, fence_ttl_ms, now_ms, now_us, common_us)\n' +
  'require_expiry(lock, lease_ms)\n' +
  'local first, given = reserve_fences(fence, fences, fence_ttl_ms, now_ms, now_us, tonumber(lease_ms), common_us)\n' +
  "redis.call('HSET', lock, holder, '1')\n" +
  "redis.call('PEXPIRE', lock, lease_ms)\n" +
  'return first, given\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local fence = KEYS[2]\n' +
  'local line = KEYS[3]\n' +
  'local holder = ARGV[1]\n' +
  'local lease_ms = ARGV[2]\n' +
  'local fences = tonumber(ARGV[3])\n' +
  'local fence_ttl_ms = tonumber(ARGV[4])\n' +
  'local not_after_ms = tonumber(ARGV[5])\n' +
  'local wants_time = tonumber(ARGV[6])\n' +
  'local common_us = tonumber(ARGV[7])\n' +
  'local ticket = ARGV[8]\n' +
  'local now_ms, now_us = server_now()\n' +
  'if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end\n' +
  "local ttl_ms = redis.call('PTTL', lock)\n" +
  "if ttl_ms == -2 and (ticket == '-' or (ticket == '' or not string.match(ticket, '^%S+ %d+ %d*%al ')) and not has_line(line)) then\n" +
  'local first_fence, given = hold_lock(lock, fence, holder, lease_ms, fences, fence_ttl_ms, now_ms, now_us, common_us)\n' +
  'if wants_time == 1 or given < fences then return { GRANTED, now_ms, first_fence, given, 0 } end\n' +
  'return first_fence\n' +
  'end\n' +
  'local function keep_counter(fence, last, ttl_ms, now_ms, lease_ms)\n' +
  "local text = redis.pcall('GET', fence)\n" +
  "if type(text) == 'table' then return end\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored then return end\n' +
  'if stored < last then\n' +
  'store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  'elseif ttl_ms > 0 then\n' +
  "redis.pcall('PEXPIRE', fence, counter_life_ms(stored, ttl_ms, now_ms, lease_ms), 'GT')\n" +
  'end\n' +
  'end\n' +
  'local function last_fence(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)\n' +
  "local last = tonumber(string.match(redis.call('GET', fence) or '', '^%d+$'))\n" +
  'if not last then return reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us) end\n' +
  'keep_counter(fence, last, ttl_ms, now_ms, lease_ms)\n' +
  'return last, 1\n' +
  'end\n' +
  'local function is_lock(field, ttl_ms)\n' +
  "if #field[1] > 1024 or #field[2] > 15 or not string.match(field[2], '^%d+$') then return false end\n" +
  "return ttl_ms >= 0 or string.match(field[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') ~= nil\n" +
  'end\n' +
  'local function found_instead(failure, key)\n' +
  "if not string.match(failure['err'], '^WRONGTYPE') then error(failure) end\n" +
  "local found = redis.pcall('TYPE', key)\n" +
  "if found['err'] then return 'a value of another type' end\n" +
  "return 'a ' .. found['ok']\n" +
  'end\n' +
  'local function is_own_kind(ticket)\n' +
  "return not string.match(ticket.holder, ':holdfast$')\n" +
  'end\n' +
  'local function make_owner(lock, ticket, fence, now_ms, now_us)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', lock, ticket.claim_ms) then return nil end\n" +
  'local first, last, text = next_fences(fence, tonumber(ticket.fences), now_us, 0)\n' +
  'if not first then return nil end\n' +
  'local stored = store_counter(fence, text, last, tonumber(ticket.fence_ttl_ms), now_ms, tonumber(ticket.claim_ms))\n' +
  "if stored['err'] then return nil end\n" +
  "if type(redis.pcall('HSET', lock, ticket.holder, '1')) == 'table' then return nil end\n" +
  "redis.call('PEXPIRE', lock, ticket.claim_ms)\n" +
  'return first, last - first + 1\n' +
  'end\n' +
  'local function unmake_owner(lock, ticket)\n' +
  "redis.call('HDEL', lock, ticket.holder)\n" +
  'end\n' +
  'local LINE_MS = 20000\n' +
  'local WINDOW_MS_MAX = 80\n' +
  'local function read_line(line, holder)\n' +
  "local fields = redis.pcall('HLEN', line)\n" +
  "if type(fields) == 'table' then\n" +
  "if not string.match(fields['err'], '^WRONGTYPE') then error(fields) end\n" +
  "return nil, 'something else under the key of its line of waiters'\n" +
  'end\n' +
  'if fields == 0 then return nil end\n' +
  "local own = '#' .. holder\n" +
  "local found = redis.call('HMGET', line, 'first', 'last', 'open', 'window', 'run', 'since', 'guest', 'linger', own)\n" +
  'local state = { place = tonumber(found[9]), tickets = math.max(0, math.floor((fields - 8) / 2)) }\n' +
  'state.first, state.last, state.open = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])\n' +
  'state.window, state.run = tonumber(found[4]), tonumber(found[5])\n' +
  'state.since, state.guest = tonumber(found[6]), tonumber(found[7])\n' +
  'local is_whole = found[8] and state.first and state.last and state.open and state.window and state.run and state.since\n' +
  'if is_whole and state.guest then return state end\n' +
  "redis.call('DEL', line)\n" +
  'return nil\n' +
  'end\n' +
  'local function new_line(line, now_ms, linger)\n' +
  'require_expiry(line, LINE_MS)\n' +
  "local counts = { 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0 }\n" +
  "redis.call('HSET', line, 'linger', linger, unpack(counts))\n" +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'return { tickets = 0, first = 1, last = 0, open = 0, window = 0, run = 0, since = now_ms, guest = 0 }\n' +
  'end\n' +
  'local function open_ms(state, now_ms)\n' +
  'local left_ms = state.open - now_ms\n' +
  'if left_ms > WINDOW_MS_MAX then return 0 end\n' +
  'return math.max(0, left_ms)\n' +
  'end\n' +
  'local function remove(line, state, place, holder)\n' +
  "redis.call('HDEL', line, place, '#' .. holder)\n" +
  'state.tickets = state.tickets - 1\n' +
  'end\n' +
  'local function read_ticket(text)\n' +
  'local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =\n' +
  "string.match(text or '', '^(%S+) (%S+) (%d+) ([1-9]%d*) ([1-9]%d*) (%d+) (%d+) (%d+) (%a) (.*)$')\n" +
  'if not holder or #claim_ms > 12 or #fences > 9 then return nil end\n' +
  'return {\n' +
  'holder = holder,\n' +
  'echo = echo,\n' +
  'lease_ms = lease_ms,\n' +
  'claim_ms = claim_ms,\n' +
  'fences = fences,\n' +
  'fence_ttl_ms = fence_ttl_ms,\n' +
  'deadline_ms = deadline_ms,\n' +
  'since_ms = since_ms,\n' +
  'mode = mode,\n' +
  'channel = channel,\n' +
  '}\n' +
  'end\n' +
  'local function write_ticket(ticket)\n' +
  "local terms = ticket.lease_ms .. ' ' .. ticket.claim_ms .. ' ' .. ticket.fences .. ' ' .. ticket.fence_ttl_ms\n" +
  "local times = ticket.deadline_ms .. ' ' .. ticket.since_ms\n" +
  "return ticket.holder .. ' ' .. ticket.echo .. ' ' .. terms .. ' ' .. times .. ' ' .. ticket.mode .. ' ' .. ticket.channel\n" +
  'end\n' +
  'local function send(ticket, message)\n' +
  'local received\n' +
  "if ticket.mode == 's' then\n" +
  "received = redis.pcall('SPUBLISH', ticket.channel, message)\n" +
  'else\n' +
  "received = redis.pcall('PUBLISH', ticket.channel, message)\n" +
  'end\n' +
  "if type(received) == 'number' then return received end\n" +
  'end\n' +
  'local function mark_deaf(line, place, ticket)\n' +
  "ticket.mode = 'n'\n" +
  "redis.call('HSET', line, place, write_ticket(ticket))\n" +
  'end\n' +
  'local function tell(line, place, ticket, message)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  'local received = send(ticket, message)\n' +
  'if not received then return false end\n' +
  "if received > 0 or ticket.mode == 'b' then return true end\n" +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local function listens(line, place, ticket)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  "if ticket.mode == 'b' then return true end\n" +
  'local counted\n' +
  "if ticket.mode == 's' then\n" +
  "counted = redis.pcall('PUBSUB', 'SHARDNUMSUB', ticket.channel)\n" +
  'else\n' +
  "counted = redis.pcall('PUBSUB', 'NUMSUB', ticket.channel)\n" +
  'end\n' +
  'if counted[2] ~= 0 then return true end\n' +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local TICKET_MS = 15000\n' +
  'local TICKETS_MAX = 10000\n' +
  'local function place_of(state)\n' +
  'if not state.place then return 0 end\n' +
  'return math.max(1, math.min(state.place - state.first + 1, state.tickets))\n' +
  'end\n' +
  'local function join(line, state, holder, wanted, lease_ms, fences, fence_ttl_ms, now_ms)\n' +
  "local echo, claim_ms, heard, mode, channel = string.match(wanted, '^(%S+) (%d+) (%d?%d?)(%a)l? (.*)$')\n" +
  "if not echo then error({ err = 'ERR expected a ticket of four parts' }) end\n" +
  "state = state or new_line(line, now_ms, '')\n" +
  'local ticket = { holder = holder, echo = echo, lease_ms = lease_ms, claim_ms = claim_ms, mode = mode, channel = channel }\n' +
  "ticket.fences, ticket.fence_ttl_ms = string.format('%.0f', fences), string.format('%.0f', fence_ttl_ms)\n" +
  "ticket.deadline_ms, ticket.since_ms = string.format('%.0f', now_ms + TICKET_MS), string.format('%.0f', now_ms)\n" +
  'if state.place then\n' +
  "local known = read_ticket(redis.call('HMGET', line, state.place)[1])\n" +
  'if known then ticket.since_ms = known.since_ms end\n' +
  "if known and mode == 'n' then ticket.mode, ticket.channel = known.mode, known.channel end\n" +
  "redis.call('HSET', line, state.place, write_ticket(ticket))\n" +
  'elseif state.tickets < TICKETS_MAX then\n' +
  'state.place, state.last, state.tickets = state.last + 1, state.last + 1, state.tickets + 1\n' +
  "redis.call('HSET', line, state.place, write_ticket(ticket), '#' .. holder, state.place, 'last', state.place)\n" +
  'end\n' +
  "state.is_deaf = ticket.mode == 'n'\n" +
  'state.heard = state.run == 0 and place_of(state) == 1 and tonumber(heard) or 0\n' +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'return state\n' +
  'end\n' +
  'local DEADLINE_MS_MAX = 60000\n' +
  'local function serve(key, fence, line, place, ticket, asker, now_ms, now_us)\n' +
  "if ticket.holder == asker then return 'asker' end\n" +
  'local left_ms = tonumber(ticket.deadline_ms) - now_ms\n' +
  'if left_ms < 0 or left_ms > DEADLINE_MS_MAX then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'gone'\n" +
  'end\n' +
  'if not is_own_kind(ticket) then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'passed'\n" +
  'end\n' +
  "if not listens(line, place, ticket) then return 'passed' end\n" +
  'local first, count = make_owner(key, ticket, fence, now_ms, now_us)\n' +
  "if not first then return 'blocked' end\n" +
  "if send(ticket, string.format('g %s %.0f %.0f', ticket.echo, first, count)) then return 'given' end\n" +
  'unmake_owner(key, ticket)\n' +
  "return 'passed'\n" +
  'end\n' +
  'local PLACES_MAX, READ_MAX = 20000, 256\n' +
  'local function advance(line, state, passed, rest)\n' +
  'local first = rest - #passed\n' +
  'local empty = first - state.first\n' +
  'if empty < 64 or empty < #passed then\n' +
  'state.first = passed[1] and passed[1].place or rest\n' +
  'return\n' +
  'end\n' +
  'for i = #passed, 1, -1 do\n' +
  'local from, to, ticket = passed[i].place, first + i - 1, passed[i].ticket\n' +
  'if from ~= to then\n' +
  "redis.call('HSET', line, to, write_ticket(ticket), '#' .. ticket.holder, to)\n" +
  "redis.call('HDEL', line, from)\n" +
  'if from == state.place then state.place = to end\n' +
  'end\n' +
  'end\n' +
  'state.first = first\n' +
  'end\n' +
  'local function settle(key, fence, line, state, asker, now_ms, now_us)\n' +
  "if open_ms(state, now_ms) > 0 then return 'open', '' end\n" +
  "local outcome, owner, passed, front = 'nobody', '', {}, state.first\n" +
  'local rest, last, size = front, math.min(state.last, front + PLACES_MAX - 1), 1\n' +
  "while rest <= last and outcome == 'nobody' do\n" +
  'local places = {}\n' +
  'for i = 1, math.min(size, last - rest + 1) do places[i] = rest + i - 1 end\n' +
  "local texts = redis.call('HMGET', line, unpack(places))\n" +
  'for i = 1, #places do\n' +
  'local ticket = read_ticket(texts[i])\n' +
  "local fate = ticket and serve(key, fence, line, places[i], ticket, asker, now_ms, now_us) or 'empty'\n" +
  "if fate == 'passed' then passed[#passed + 1] = { place = places[i], ticket = ticket } end\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'gone' then remove(line, state, places[i], ticket.holder) end\n" +
  "rest = places[i] + (fate == 'blocked' and 0 or 1)\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'blocked' then\n" +
  'outcome, owner = fate, ticket.holder\n' +
  'break\n' +
  'end\n' +
  'end\n' +
  'size = math.min(READ_MAX, 2 * size)\n' +
  'end\n' +
  'advance(line, state, passed, rest)\n' +
  "if outcome == 'asker' then state.place = nil end\n" +
  "local is_served = outcome == 'asker' or outcome == 'given'\n" +
  'if is_served then state.run = state.run + 1 end\n' +
  "if is_served or state.first > front then redis.call('HSET', line, 'first', state.first, 'run', state.run) end\n" +
  'return outcome, owner\n' +
  'end\n' +
  'local function must_wait(key, fence, line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms, now_us)\n' +
  "if not state then return false, '' end\n" +
  'if state.tickets == 0 and open_ms(state, now_ms) == 0 then\n' +
  "redis.call('HSET', line, 'run', state.run + 1)\n" +
  "return false, ''\n" +
  'end\n' +
  "if ticket ~= '' then join(line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms) end\n" +
  'if state.is_deaf and state.place and open_ms(state, now_ms) > 0 then\n' +
  'remove(line, state, state.place, holder)\n' +
  'state.place, state.open = nil, 0\n' +
  "redis.call('HSET', line, 'open', 0, 'window', 0)\n" +
  "return false, ''\n" +
  'end\n' +
  'local outcome, owner = settle(key, fence, line, state, holder, now_ms, now_us)\n' +
  "if outcome == 'nobody' and not state.place then\n" +
  "redis.call('HSET', line, 'run', state.run + 1)\n" +
  "return false, ''\n" +
  'end\n' +
  "return outcome ~= 'asker' and outcome ~= 'blocked', owner\n" +
  'end\n' +
  'local TURNS_MAX = 8\n' +
  'local function guest_flag(holder)\n' +
  "return string.match(holder, '^%x+%-%x+%-8') and 0 or 1\n" +
  'end\n' +
  'local function note_guests(line, state, is_owner)\n' +
  'if state.heard == 0 and not (is_owner and state.window > 0) then return end\n' +
  'local window = math.max(-TURNS_MAX, math.min(state.window, 0) - state.heard)\n' +
  'if is_owner then state.open = 0 end\n' +
  "redis.call('HSET', line, 'open', state.open, 'window', window)\n" +
  'end\n' +
  'local function keep_unowned(line, state, holder, ticket, now_ms)\n' +
  "local echo, mode, channel = string.match(ticket, '^(%S+) %d+ %d*(%a)l (.*)$')\n" +
  "if not echo or mode == 'n' then return 0 end\n" +
  'local tickets = state and state.tickets or 0\n' +
  "local may_write = redis.acl_check_cmd('PEXPIRE', line, LINE_MS) and redis.acl_check_cmd('HSET', line, 'linger', '')\n" +
  'if tickets > 0 or not may_write then return math.max(1, tickets) end\n' +
  "local keeper = holder .. ' ' .. echo .. ' ' .. mode .. ' ' .. channel\n" +
  'if state then\n' +
  "redis.call('HSET', line, 'linger', keeper)\n" +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'else\n' +
  'new_line(line, now_ms, keeper)\n' +
  'end\n' +
  'return 0\n' +
  'end\n' +
  'local function want(line, owner)\n' +
  "local known = redis.pcall('HMGET', line, 'linger')\n" +
  "local holder, echo, mode, channel = string.match(known[1] or '', '^(%S+) (%S+) (%a) (.*)$')\n" +
  'if holder ~= owner then return end\n' +
  "if mode == 's' then\n" +
  "redis.pcall('SPUBLISH', channel, 'w ' .. echo)\n" +
  'else\n' +
  "redis.pcall('PUBLISH', channel, 'w ' .. echo)\n" +
  'end\n' +
  'end\n' +
  'local state, found, first_fence, given\n' +
  "if ticket ~= '-' and (ttl_ms == -2 or ticket ~= '') then state, found = read_line(line, holder) end\n" +
  'if found then return { CONFLICT, now_ms, found } end\n' +
  'if ttl_ms ~= -2 then\n' +
  "local fields = redis.pcall('HLEN', lock)\n" +
  "if type(fields) == 'table' then return { CONFLICT, now_ms, found_instead(fields, lock) } end\n" +
  "if fields ~= 1 then return { CONFLICT, now_ms, 'a hash of another kind' } end\n" +
  "local field = redis.call('HGETALL', lock)\n" +
  'local is_ours = field[1] == holder\n' +
  "if not is_lock(field, is_ours and 0 or ttl_ms) then return { CONFLICT, now_ms, 'a hash that is not a lock' } end\n" +
  'if not is_ours then\n' +
  'local is_guest = guest_flag(field[1])\n' +
  "if ticket ~= '-' then want(line, field[1]) end\n" +
  "if ticket == '' or ticket == '-' then return { HELD, now_ms, ttl_ms, field[1], 0, 0, 0, is_guest } end\n" +
  'state = join(line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms)\n' +
  'note_guests(line, state, is_guest == 1)\n' +
  'return { HELD, now_ms, ttl_ms, field[1], place_of(state), state.tickets, 0, is_guest }\n' +
  'end\n' +
  'first_fence, given = last_fence(fence, fences, fence_ttl_ms, now_ms, now_us, tonumber(lease_ms), common_us)\n' +
  "if ttl_ms < tonumber(lease_ms) then redis.call('PEXPIRE', lock, lease_ms) end\n" +
  'else\n' +
  'local waits, owner = must_wait(lock, fence, line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms, now_us)\n' +
  'if state and state.heard then note_guests(line, state, false) end\n' +
  'if waits then\n' +
  "return { HELD, now_ms, redis.call('PTTL', lock), owner, place_of(state), state.tickets, open_ms(state, now_ms), 0 }\n" +
  'end\n' +
  'first_fence, given = hold_lock(lock, fence, holder, lease_ms, fences, fence_ttl_ms, now_ms, now_us, common_us)\n' +
  'end\n' +
  'local behind = keep_unowned(line, state, holder, ticket, now_ms)\n' +
  'if wants_time == 1 or given < fences or behind > 0 then return { GRANTED, now_ms, first_fence, given, behind } end\n' +
  'return first_fence\n';

const lockAcquireText: ScriptText = {
  name: 'lock.acquire',
  sha: 'aa87e24dd137dad6bb526be3dccfdff528f882f1',
  source: lockAcquireSource,
  bundle: {
    name: 'lock.acquire (bundle)',
    sha: 'afaf407cd11debe9cb713c649011735d4283b283',
    source: bundleSource(lockAcquireSource, { headLength: 2505, keys: 3, args: 8, isTimed: true, line: 3 }),
  },
};

export interface LockAcquireInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** string: the last fence given out */
  readonly fence: string;
  /** hash: who waits, see include/line.lua */
  readonly line: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** ms */
  readonly leaseMs: number;
  /** how many fences to reserve at most */
  readonly fences: number;
  /** ms: how long the counter outlives the lease and its last fence, 0 for ever */
  readonly fenceTtlMs: number;
  /** ms of server time: refuse when later, 0 never */
  readonly notAfterMs: number;
  /** 1 to be told the server's time with the grant */
  readonly wantsTime: number;
  /** µs: the time that fences begin from on all of several servers, 0 the server's own */
  readonly commonUs: number;
  /** echo, claim in ms, turns heard with mode, and channel, to wait in the line; empty not to; `-` where there is no line */
  readonly ticket: string;
}

export type LockAcquireOutcome =
  | {
      readonly is: 'GRANTED';
      readonly nowMs?: number;
      readonly firstFence: number;
      readonly fences?: number;
      readonly tickets?: number;
    }
  | {
      readonly is: 'HELD';
      readonly nowMs: number;
      readonly ttlMs: number;
      readonly owner: string;
      readonly place: number;
      readonly tickets: number;
      readonly openMs: number;
      readonly isGuest: number;
    }
  | { readonly is: 'LATE'; readonly nowMs: number }
  | { readonly is: 'CONFLICT'; readonly nowMs: number; readonly found: string };

/** Grants the lock to one hold, or says who has it, and keeps the hold's place in the line. */
export const lockAcquire: Script<LockAcquireInput, LockAcquireOutcome> = {
  text: lockAcquireText,
  call(input: LockAcquireInput): ScriptCall {
    return {
      script: lockAcquireText,
      keys: [input.lock, input.fence, input.line],
      args: [
        input.holder,
        String(input.leaseMs),
        String(input.fences),
        String(input.fenceTtlMs),
        String(input.notAfterMs),
        String(input.wantsTime),
        String(input.commonUs),
        input.ticket,
      ],
    };
  },
  decode(reply: Reply): LockAcquireOutcome {
    if (typeof reply === 'number') return { is: 'GRANTED', firstFence: bareInteger(lockAcquireText, reply) };
    const items = openReply(lockAcquireText, reply);
    switch (items[0]) {
      case OUTCOMES.GRANTED:
        requireItems(lockAcquireText, items, 5);
        return {
          is: 'GRANTED',
          nowMs: integerAt(lockAcquireText, items, 1),
          firstFence: integerAt(lockAcquireText, items, 2),
          fences: integerAt(lockAcquireText, items, 3),
          tickets: integerAt(lockAcquireText, items, 4),
        };
      case OUTCOMES.HELD:
        requireItems(lockAcquireText, items, 8);
        return {
          is: 'HELD',
          nowMs: integerAt(lockAcquireText, items, 1),
          ttlMs: integerAt(lockAcquireText, items, 2),
          owner: stringAt(lockAcquireText, items, 3),
          place: integerAt(lockAcquireText, items, 4),
          tickets: integerAt(lockAcquireText, items, 5),
          openMs: integerAt(lockAcquireText, items, 6),
          isGuest: integerAt(lockAcquireText, items, 7),
        };
      case OUTCOMES.LATE:
        requireItems(lockAcquireText, items, 2);
        return { is: 'LATE', nowMs: integerAt(lockAcquireText, items, 1) };
      case OUTCOMES.CONFLICT:
        requireItems(lockAcquireText, items, 3);
        return {
          is: 'CONFLICT',
          nowMs: integerAt(lockAcquireText, items, 1),
          found: stringAt(lockAcquireText, items, 2),
        };
      default:
        return refuseReply(lockAcquireText, reply);
    }
  },
};

const lockRaiseSource =
  '#!lua flags=allow-oom\n' +
  'local RAISED = 15\n' +
  'local GONE = 6\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  'return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms\n' +
  'end\n' +
  'local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if ttl_ms == 0 then return redis.pcall('SET', fence, last) end\n" +
  'local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  "local left_ms = text and redis.call('PTTL', fence) or 0\n" +
  "if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end\n" +
  "return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)\n" +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local fence = KEYS[2]\n' +
  'local holder = ARGV[1]\n' +
  'local last = tonumber(ARGV[2])\n' +
  'local fence_ttl_ms = tonumber(ARGV[3])\n' +
  'local is_given = tonumber(ARGV[4])\n' +
  "local is_ours = redis.call('HEXISTS', lock, holder) == 1\n" +
  "local lease_ms = redis.call('PTTL', lock)\n" +
  'if not is_ours and (is_given == 0 or lease_ms ~= -2) then return { GONE } end\n' +
  "local text = redis.call('GET', fence)\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored then return { GONE } end\n' +
  'if stored > last then return { GONE } end\n' +
  'if stored < last then\n' +
  'local now_ms, now_us = server_now()\n' +
  'local to = (text or is_ours) and last or math.max(last, now_us)\n' +
  'local reply = store_counter(fence, text, to, fence_ttl_ms, now_ms, math.max(lease_ms, 0))\n' +
  "if reply['err'] then error(reply) end\n" +
  'end\n' +
  'if not is_ours then return { GONE } end\n' +
  'return last\n';

const lockRaiseText: ScriptText = {
  name: 'lock.raise',
  sha: '378e6266508a62af4c34f672276c1be1836b2c99',
  source: lockRaiseSource,
};

export interface LockRaiseInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** string: the last fence given out */
  readonly fence: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** the last fence of the block */
  readonly last: number;
  /** ms: how long the counter outlives the lease and its last fence, 0 for ever */
  readonly fenceTtlMs: number;
  /** 1 once a majority has it: then it is raised also where nobody holds the lock */
  readonly isGiven: number;
}

export type LockRaiseOutcome = { readonly is: 'RAISED'; readonly last: number } | { readonly is: 'GONE' };

/** Raises the fence counter to the end of a block that a majority of servers agreed on, while the hold is ours here. */
export const lockRaise: Script<LockRaiseInput, LockRaiseOutcome> = {
  text: lockRaiseText,
  call(input: LockRaiseInput): ScriptCall {
    return {
      script: lockRaiseText,
      keys: [input.lock, input.fence],
      args: [input.holder, String(input.last), String(input.fenceTtlMs), String(input.isGiven)],
    };
  },
  decode(reply: Reply): LockRaiseOutcome {
    if (typeof reply === 'number') return { is: 'RAISED', last: bareInteger(lockRaiseText, reply) };
    const items = openReply(lockRaiseText, reply);
    switch (items[0]) {
      case OUTCOMES.RAISED:
        requireItems(lockRaiseText, items, 2);
        return { is: 'RAISED', last: integerAt(lockRaiseText, items, 1) };
      case OUTCOMES.GONE:
        requireItems(lockRaiseText, items, 1);
        return { is: 'GONE' };
      default:
        return refuseReply(lockRaiseText, reply);
    }
  },
};

const lockRecountSource =
  '#!lua flags=allow-oom\n' +
  'local COUNTED = 9\n' +
  'local GONE = 6\n' +
  'local REVOKED = 18\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  'return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms\n' +
  'end\n' +
  'local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if ttl_ms == 0 then return redis.pcall('SET', fence, last) end\n" +
  'local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  "local left_ms = text and redis.call('PTTL', fence) or 0\n" +
  "if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end\n" +
  "return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)\n" +
  'end\n' +
  'local function keep_counter(fence, last, ttl_ms, now_ms, lease_ms)\n' +
  "local text = redis.pcall('GET', fence)\n" +
  "if type(text) == 'table' then return end\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored then return end\n' +
  'if stored < last then\n' +
  'store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  'elseif ttl_ms > 0 then\n' +
  "redis.pcall('PEXPIRE', fence, counter_life_ms(stored, ttl_ms, now_ms, lease_ms), 'GT')\n" +
  'end\n' +
  'end\n' +
  'local function words_key(key, owner)\n' +
  "local tagged = string.match(key, '{') and key or '{' .. key .. '}'\n" +
  "return 'holdfast_revoked:' .. tagged .. ':' .. owner\n" +
  'end\n' +
  'local function left_words(key, owner)\n' +
  'local left = words_key(key, owner)\n' +
  "local words = redis.pcall('GET', left)\n" +
  "if type(words) ~= 'string' or #words > 2048 or string.sub(words, 1, 8) ~= 'revoked ' then return nil end\n" +
  'return string.sub(words, 9)\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local fence = KEYS[2]\n' +
  'local holder = ARGV[1]\n' +
  'local count = ARGV[2]\n' +
  'local lease_ms = tonumber(ARGV[3])\n' +
  'local fixed = tonumber(ARGV[4])\n' +
  'local last_fence = tonumber(ARGV[5])\n' +
  'local fence_ttl_ms = tonumber(ARGV[6])\n' +
  "if redis.call('HEXISTS', lock, holder) == 0 then\n" +
  'local words = left_words(lock, holder)\n' +
  'if words then return { REVOKED, words } end\n' +
  'return { GONE }\n' +
  'end\n' +
  "local ttl_ms = redis.call('PTTL', lock)\n" +
  'if ttl_ms == -1 or (fixed == 0 and ttl_ms < lease_ms) then\n' +
  "redis.call('PEXPIRE', lock, lease_ms)\n" +
  'local now_ms = server_now()\n' +
  'keep_counter(fence, last_fence, fence_ttl_ms, now_ms, lease_ms)\n' +
  'end\n' +
  "redis.call('HSET', lock, holder, count)\n" +
  'return { COUNTED }\n';

const lockRecountText: ScriptText = {
  name: 'lock.recount',
  sha: '972c0cfb658cbec5d0aac773a4f22148d3952f90',
  source: lockRecountSource,
};

export interface LockRecountInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** string: the last fence given out; or the lock's key again: the counter is then left alone */
  readonly fence: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** the count from now on */
  readonly count: number;
  /** ms: the least time left afterwards, unless the lease is fixed */
  readonly leaseMs: number;
  /** 1 to leave the time left as it is, 0 to make it lease_ms at least */
  readonly fixed: number;
  /** the last fence of the hold's block */
  readonly lastFence: number;
  /** ms: how long the counter outlives the lease and its last fence, 0 for ever */
  readonly fenceTtlMs: number;
}

export type LockRecountOutcome =
  | { readonly is: 'COUNTED' }
  | { readonly is: 'GONE' }
  | { readonly is: 'REVOKED'; readonly words: string };

/** States how many times a hold is entered, and never shortens its lease. A fixed lease it never prolongs either. */
export const lockRecount: Script<LockRecountInput, LockRecountOutcome> = {
  text: lockRecountText,
  call(input: LockRecountInput): ScriptCall {
    return {
      script: lockRecountText,
      keys: [input.lock, input.fence],
      args: [
        input.holder,
        String(input.count),
        String(input.leaseMs),
        String(input.fixed),
        String(input.lastFence),
        String(input.fenceTtlMs),
      ],
    };
  },
  decode(reply: Reply): LockRecountOutcome {
    const items = openReply(lockRecountText, reply);
    switch (items[0]) {
      case OUTCOMES.COUNTED:
        requireItems(lockRecountText, items, 1);
        return { is: 'COUNTED' };
      case OUTCOMES.GONE:
        requireItems(lockRecountText, items, 1);
        return { is: 'GONE' };
      case OUTCOMES.REVOKED:
        requireItems(lockRecountText, items, 2);
        return { is: 'REVOKED', words: stringAt(lockRecountText, items, 1) };
      default:
        return refuseReply(lockRecountText, reply);
    }
  },
};

const lockReleaseSource =
  '#!lua flags=allow-oom\n' +
  'local RELEASED = 5\n' +
  'local LEFT = 16\n' +
  'local GONE = 6\n' +
  'local function has_line(line)\n' +
  "return redis.pcall('HLEN', line) ~= 0\n" +
  'end\n' +
  'local function notify(mode, channel, message)\n' +
  'local receivers = 0\n' +
  "if mode == 'plain' or mode == 'both' then\n" +
  "local heard = redis.pcall('PUBLISH', channel, message)\n" +
  "if type(heard) == 'number' then receivers = heard end\n" +
  'end\n' +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local heard = redis.pcall('SPUBLISH', channel, message)\n" +
  "if type(heard) == 'number' and heard > receivers then receivers = heard end\n" +
  'end\n' +
  'return receivers\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local fence = KEYS[2]\n' +
  'local line = KEYS[3]\n' +
  'local holder = ARGV[1]\n' +
  'local channel = ARGV[2]\n' +
  'local mode = ARGV[3]\n' +
  'local is_vote = tonumber(ARGV[4])\n' +
  "local removed = redis.pcall('HDEL', lock, holder)\n" +
  "local is_lock_key = type(removed) == 'number'\n" +
  'local was_owner = removed == 1\n' +
  'local is_alone = is_vote == 1 or not has_line(line)\n' +
  'local receivers = 0\n' +
  'if is_alone then\n' +
  'if not is_lock_key then error(removed) end\n' +
  'if not was_owner then return { GONE } end\n' +
  "receivers = notify(mode, channel, '0')\n" +
  'if receivers == 0 or is_vote == 1 then return receivers end\n' +
  'end\n' +
  'local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  'return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms\n' +
  'end\n' +
  'local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if ttl_ms == 0 then return redis.pcall('SET', fence, last) end\n" +
  'local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  "local left_ms = text and redis.call('PTTL', fence) or 0\n" +
  "if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end\n" +
  "return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)\n" +
  'end\n' +
  'local function next_fences(fence, count, now_us, common_us)\n' +
  "local text = redis.pcall('GET', fence)\n" +
  "if type(text) == 'table' then return nil end\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored or stored + count > 9007199254740991 then return nil end\n' +
  'local earliest_us = stored > 0 and now_us - 20000 or now_us\n' +
  'local from_us = now_us\n' +
  'if common_us >= earliest_us and common_us <= now_us + 100000 then from_us = common_us end\n' +
  'local first = math.max(stored + 1, from_us)\n' +
  'return first, math.max(first, math.min(first + count - 1, from_us + 1000)), text\n' +
  'end\n' +
  'local function reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)\n' +
  'local first, last, text = next_fences(fence, count, now_us, common_us)\n' +
  'if not first then\n' +
  "redis.call('GET', fence)\n" +
  "error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })\n" +
  'end\n' +
  'local reply = store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if reply['err'] then error(reply) end\n" +
  'return first, last - first + 1\n' +
  'end\n' +
  'local function is_own_kind(ticket)\n' +
  "return not string.match(ticket.holder, ':holdfast$')\n" +
  'end\n' +
  'local function make_owner(lock, ticket, fence, now_ms, now_us)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', lock, ticket.claim_ms) then return nil end\n" +
  'local first, last, text = next_fences(fence, tonumber(ticket.fences), now_us, 0)\n' +
  'if not first then return nil end\n' +
  'local stored = store_counter(fence, text, last, tonumber(ticket.fence_ttl_ms), now_ms, tonumber(ticket.claim_ms))\n' +
  "if stored['err'] then return nil end\n" +
  "if type(redis.pcall('HSET', lock, ticket.holder, '1')) == 'table' then return nil end\n" +
  "redis.call('PEXPIRE', lock, ticket.claim_ms)\n" +
  'return first, last - first + 1\n' +
  'end\n' +
  'local function unmake_owner(lock, ticket)\n' +
  "redis.call('HDEL', lock, ticket.holder)\n" +
  'end\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local LINE_MS = 20000\n' +
  'local WINDOW_MS_MAX = 80\n' +
  'local function read_line(line, holder)\n' +
  "local fields = redis.pcall('HLEN', line)\n" +
  "if type(fields) == 'table' then\n" +
  "if not string.match(fields['err'], '^WRONGTYPE') then error(fields) end\n" +
  "return nil, 'something else under the key of its line of waiters'\n" +
  'end\n' +
  'if fields == 0 then return nil end\n' +
  "local own = '#' .. holder\n" +
  "local found = redis.call('HMGET', line, 'first', 'last', 'open', 'window', 'run', 'since', 'guest', 'linger', own)\n" +
  'local state = { place = tonumber(found[9]), tickets = math.max(0, math.floor((fields - 8) / 2)) }\n' +
  'state.first, state.last, state.open = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])\n' +
  'state.window, state.run = tonumber(found[4]), tonumber(found[5])\n' +
  'state.since, state.guest = tonumber(found[6]), tonumber(found[7])\n' +
  'local is_whole = found[8] and state.first and state.last and state.open and state.window and state.run and state.since\n' +
  'if is_whole and state.guest then return state end\n' +
  "redis.call('DEL', line)\n" +
  'return nil\n' +
  'end\n' +
  'local function new_line(line, now_ms, linger)\n' +
  'require_expiry(line, LINE_MS)\n' +
  "local counts = { 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0 }\n" +
  "redis.call('HSET', line, 'linger', linger, unpack(counts))\n" +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'return { tickets = 0, first = 1, last = 0, open = 0, window = 0, run = 0, since = now_ms, guest = 0 }\n' +
  'end\n' +
  'local function open_ms(state, now_ms)\n' +
  'local left_ms = state.open - now_ms\n' +
  'if left_ms > WINDOW_MS_MAX then return 0 end\n' +
  'return math.max(0, left_ms)\n' +
  'end\n' +
  'local function remove(line, state, place, holder)\n' +
  "redis.call('HDEL', line, place, '#' .. holder)\n" +
  'state.tickets = state.tickets - 1\n' +
  'end\n' +
  'local function read_ticket(text)\n' +
  'local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =\n' +
  "string.match(text or '', '^(%S+) (%S+) (%d+) ([1-9]%d*) ([1-9]%d*) (%d+) (%d+) (%d+) (%a) (.*)$')\n" +
  'if not holder or #claim_ms > 12 or #fences > 9 then return nil end\n' +
  'return {\n' +
  'holder = holder,\n' +
  'echo = echo,\n' +
  'lease_ms = lease_ms,\n' +
  'claim_ms = claim_ms,\n' +
  'fences = fences,\n' +
  'fence_ttl_ms = fence_ttl_ms,\n' +
  'deadline_ms = deadline_ms,\n' +
  'since_ms = since_ms,\n' +
  'mode = mode,\n' +
  'channel = channel,\n' +
  '}\n' +
  'end\n' +
  'local function write_ticket(ticket)\n' +
  "local terms = ticket.lease_ms .. ' ' .. ticket.claim_ms .. ' ' .. ticket.fences .. ' ' .. ticket.fence_ttl_ms\n" +
  "local times = ticket.deadline_ms .. ' ' .. ticket.since_ms\n" +
  "return ticket.holder .. ' ' .. ticket.echo .. ' ' .. terms .. ' ' .. times .. ' ' .. ticket.mode .. ' ' .. ticket.channel\n" +
  'end\n' +
  'local function send(ticket, message)\n' +
  'local received\n' +
  "if ticket.mode == 's' then\n" +
  "received = redis.pcall('SPUBLISH', ticket.channel, message)\n" +
  'else\n' +
  "received = redis.pcall('PUBLISH', ticket.channel, message)\n" +
  'end\n' +
  "if type(received) == 'number' then return received end\n" +
  'end\n' +
  'local function mark_deaf(line, place, ticket)\n' +
  "ticket.mode = 'n'\n" +
  "redis.call('HSET', line, place, write_ticket(ticket))\n" +
  'end\n' +
  'local function tell(line, place, ticket, message)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  'local received = send(ticket, message)\n' +
  'if not received then return false end\n' +
  "if received > 0 or ticket.mode == 'b' then return true end\n" +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local function listens(line, place, ticket)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  "if ticket.mode == 'b' then return true end\n" +
  'local counted\n' +
  "if ticket.mode == 's' then\n" +
  "counted = redis.pcall('PUBSUB', 'SHARDNUMSUB', ticket.channel)\n" +
  'else\n' +
  "counted = redis.pcall('PUBSUB', 'NUMSUB', ticket.channel)\n" +
  'end\n' +
  'if counted[2] ~= 0 then return true end\n' +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local DEADLINE_MS_MAX = 60000\n' +
  'local function serve(key, fence, line, place, ticket, asker, now_ms, now_us)\n' +
  "if ticket.holder == asker then return 'asker' end\n" +
  'local left_ms = tonumber(ticket.deadline_ms) - now_ms\n' +
  'if left_ms < 0 or left_ms > DEADLINE_MS_MAX then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'gone'\n" +
  'end\n' +
  'if not is_own_kind(ticket) then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'passed'\n" +
  'end\n' +
  "if not listens(line, place, ticket) then return 'passed' end\n" +
  'local first, count = make_owner(key, ticket, fence, now_ms, now_us)\n' +
  "if not first then return 'blocked' end\n" +
  "if send(ticket, string.format('g %s %.0f %.0f', ticket.echo, first, count)) then return 'given' end\n" +
  'unmake_owner(key, ticket)\n' +
  "return 'passed'\n" +
  'end\n' +
  'local PLACES_MAX, READ_MAX = 20000, 256\n' +
  'local function advance(line, state, passed, rest)\n' +
  'local first = rest - #passed\n' +
  'local empty = first - state.first\n' +
  'if empty < 64 or empty < #passed then\n' +
  'state.first = passed[1] and passed[1].place or rest\n' +
  'return\n' +
  'end\n' +
  'for i = #passed, 1, -1 do\n' +
  'local from, to, ticket = passed[i].place, first + i - 1, passed[i].ticket\n' +
  'if from ~= to then\n' +
  "redis.call('HSET', line, to, write_ticket(ticket), '#' .. ticket.holder, to)\n" +
  "redis.call('HDEL', line, from)\n" +
  'if from == state.place then state.place = to end\n' +
  'end\n' +
  'end\n' +
  'state.first = first\n' +
  'end\n' +
  'local function settle(key, fence, line, state, asker, now_ms, now_us)\n' +
  "if open_ms(state, now_ms) > 0 then return 'open', '' end\n" +
  "local outcome, owner, passed, front = 'nobody', '', {}, state.first\n" +
  'local rest, last, size = front, math.min(state.last, front + PLACES_MAX - 1), 1\n' +
  "while rest <= last and outcome == 'nobody' do\n" +
  'local places = {}\n' +
  'for i = 1, math.min(size, last - rest + 1) do places[i] = rest + i - 1 end\n' +
  "local texts = redis.call('HMGET', line, unpack(places))\n" +
  'for i = 1, #places do\n' +
  'local ticket = read_ticket(texts[i])\n' +
  "local fate = ticket and serve(key, fence, line, places[i], ticket, asker, now_ms, now_us) or 'empty'\n" +
  "if fate == 'passed' then passed[#passed + 1] = { place = places[i], ticket = ticket } end\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'gone' then remove(line, state, places[i], ticket.holder) end\n" +
  "rest = places[i] + (fate == 'blocked' and 0 or 1)\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'blocked' then\n" +
  'outcome, owner = fate, ticket.holder\n' +
  'break\n' +
  'end\n' +
  'end\n' +
  'size = math.min(READ_MAX, 2 * size)\n' +
  'end\n' +
  'advance(line, state, passed, rest)\n' +
  "if outcome == 'asker' then state.place = nil end\n" +
  "local is_served = outcome == 'asker' or outcome == 'given'\n" +
  'if is_served then state.run = state.run + 1 end\n' +
  "if is_served or state.first > front then redis.call('HSET', line, 'first', state.first, 'run', state.run) end\n" +
  'return outcome, owner\n' +
  'end\n' +
  'local TOLD_MAX = 256\n' +
  'local function wake(line, state, in_ms)\n' +
  'for place = state.first, math.min(state.last, state.first + TOLD_MAX - 1) do\n' +
  "local ticket = read_ticket(redis.call('HMGET', line, place)[1])\n" +
  "if ticket and tell(line, place, ticket, string.format('a %s %.0f', ticket.echo, in_ms)) then return end\n" +
  'end\n' +
  'end\n' +
  'local function listeners_of(mode, channel)\n' +
  'local count = 0\n' +
  "if mode == 'plain' or mode == 'both' then count = redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0 end\n" +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local sharded = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0\n" +
  'if sharded > count then count = sharded end\n' +
  'end\n' +
  'return count\n' +
  'end\n' +
  'local WINDOW_MS_MIN = 5\n' +
  'local RUN_WINDOWS = 10\n' +
  'local RUN_MS_POLLED = 40\n' +
  'local SHARE_UNSEEN = 50\n' +
  'local SHARE_SEEN = 8\n' +
  'local SEEN_MS = 60000\n' +
  'local function window_ms(state, mode, channel, is_polled, now_ms)\n' +
  'local run_ms, unseen_ms = now_ms - state.since, now_ms - state.guest\n' +
  'if run_ms < 0 then run_ms = RUN_WINDOWS * WINDOW_MS_MAX end\n' +
  'if state.run > 0 and run_ms >= RUN_WINDOWS * state.window then\n' +
  'local listeners = listeners_of(mode, channel)\n' +
  'local turns = math.max(1, -state.window)\n' +
  'local is_due = listeners > 0 and state.run >= turns * (state.tickets + 1) / listeners - 0.5\n' +
  'if is_due then return math.min(WINDOW_MS_MAX, math.max(WINDOW_MS_MIN, 2 * state.window)) end\n' +
  'end\n' +
  'if is_polled and state.tickets > 0 and run_ms >= RUN_MS_POLLED then\n' +
  'local share = unseen_ms >= 0 and unseen_ms < SEEN_MS and SHARE_SEEN or SHARE_UNSEEN\n' +
  'return math.min(WINDOW_MS_MAX, math.max(1, math.floor(run_ms / share)))\n' +
  'end\n' +
  'return 0\n' +
  'end\n' +
  'local function open_window(line, length_ms, now_ms)\n' +
  "redis.call('HSET', line, 'open', now_ms + length_ms, 'window', length_ms, 'run', 0, 'since', now_ms)\n" +
  'end\n' +
  'local function leave_to_guests(key, line)\n' +
  "if redis.call('PTTL', key) ~= -2 then return end\n" +
  'local now_ms = server_now()\n' +
  "new_line(line, now_ms, '')\n" +
  'open_window(line, WINDOW_MS_MIN, now_ms)\n' +
  'end\n' +
  'local function note_guest(line, now_ms)\n' +
  "redis.call('HSET', line, 'window', 0, 'guest', now_ms)\n" +
  'end\n' +
  'local function leave(line, state, holder)\n' +
  'local place, front = state.place, state.first\n' +
  'state.place = nil\n' +
  'remove(line, state, place, holder)\n' +
  'if place ~= front then return place == front + 1 end\n' +
  'local first = place + 1\n' +
  "while first <= state.last and first < front + 1000 and redis.call('HEXISTS', line, first) == 0 do first = first + 1 end\n" +
  'state.first = first\n' +
  "redis.call('HSET', line, 'first', first)\n" +
  'return true\n' +
  'end\n' +
  'local function go_on(key, fence, line, holder, was_owner, mode, channel, is_polled)\n' +
  'local state = read_line(line, holder)\n' +
  'if not state then return nil end\n' +
  'local now_ms, now_us = server_now()\n' +
  'local was_waiting = state.place ~= nil\n' +
  'local was_front = was_waiting and leave(line, state, holder)\n' +
  "if redis.call('PTTL', key) ~= -2 then\n" +
  'if was_owner or was_front then wake(line, state, 0) end\n' +
  "return was_owner and notify(mode, channel, '0') or 0, was_waiting\n" +
  'end\n' +
  'local length_ms = was_owner and is_polled ~= nil and window_ms(state, mode, channel, is_polled, now_ms) or 0\n' +
  'if length_ms > 0 then\n' +
  'open_window(line, length_ms, now_ms)\n' +
  "local heard = notify(mode, channel, '0')\n" +
  'wake(line, state, is_polled and length_ms or 0)\n' +
  'return heard, was_waiting\n' +
  'end\n' +
  "local outcome = settle(key, fence, line, state, '', now_ms, now_us)\n" +
  "if outcome == 'given' then return 0, was_waiting end\n" +
  "if outcome == 'open' then wake(line, state, open_ms(state, now_ms)) end\n" +
  "if outcome == 'blocked' then wake(line, state, 0) end\n" +
  "local heard = was_owner and notify(mode, channel, '0') or 0\n" +
  "if heard == 0 and state.tickets == 0 and outcome == 'nobody' then redis.pcall('DEL', line) end\n" +
  'return heard, was_waiting\n' +
  'end\n' +
  'if is_alone then\n' +
  'pcall(leave_to_guests, lock, line)\n' +
  'return receivers\n' +
  'end\n' +
  'local is_done, heard, was_waiting = pcall(go_on, lock, fence, line, holder, was_owner, mode, channel, false)\n' +
  'if was_owner then\n' +
  "receivers = is_done and heard or notify(mode, channel, '0')\n" +
  'return receivers\n' +
  'end\n' +
  "if not is_done then error(type(heard) == 'table' and heard or { err = heard }) end\n" +
  'if was_waiting then return { LEFT } end\n' +
  'if not is_lock_key then error(removed) end\n' +
  'return { GONE }\n';

const lockReleaseText: ScriptText = {
  name: 'lock.release',
  sha: 'f859871357d95b6a48faa0aeb75e74d5ee60efac',
  source: lockReleaseSource,
  bundle: {
    name: 'lock.release (bundle)',
    sha: 'f6c8772ef12ef946c34603dbbf1f52b8aeb734ec',
    source: bundleSource(lockReleaseSource, { headLength: 566, keys: 3, args: 4, isTimed: false, line: 3 }),
  },
};

export interface LockReleaseInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** string: the last fence given out */
  readonly fence: string;
  /** hash: who waits, see include/line.lua */
  readonly line: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** where guests listen */
  readonly channel: string;
  /** how to tell them: nobody, plain, sharded or both */
  readonly mode: string;
  /** 1 on a server of a quorum, which has no line */
  readonly isVote: number;
}

export type LockReleaseOutcome =
  | { readonly is: 'RELEASED'; readonly receivers: number }
  | { readonly is: 'LEFT' }
  | { readonly is: 'GONE' };

/** Ends a hold, whatever its count, or a wait. The first in line who hears is the next owner. Fields that are not ours stay. */
export const lockRelease: Script<LockReleaseInput, LockReleaseOutcome> = {
  text: lockReleaseText,
  call(input: LockReleaseInput): ScriptCall {
    return {
      script: lockReleaseText,
      keys: [input.lock, input.fence, input.line],
      args: [input.holder, input.channel, input.mode, String(input.isVote)],
    };
  },
  decode(reply: Reply): LockReleaseOutcome {
    if (typeof reply === 'number') return { is: 'RELEASED', receivers: bareInteger(lockReleaseText, reply) };
    const items = openReply(lockReleaseText, reply);
    switch (items[0]) {
      case OUTCOMES.RELEASED:
        requireItems(lockReleaseText, items, 2);
        return { is: 'RELEASED', receivers: integerAt(lockReleaseText, items, 1) };
      case OUTCOMES.LEFT:
        requireItems(lockReleaseText, items, 1);
        return { is: 'LEFT' };
      case OUTCOMES.GONE:
        requireItems(lockReleaseText, items, 1);
        return { is: 'GONE' };
      default:
        return refuseReply(lockReleaseText, reply);
    }
  },
};

const lockRenewSource =
  '#!lua flags=allow-oom\n' +
  'local RENEWED = 7\n' +
  'local GONE = 6\n' +
  'local FAILED = 8\n' +
  'local REVOKED = 18\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  'return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms\n' +
  'end\n' +
  'local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if ttl_ms == 0 then return redis.pcall('SET', fence, last) end\n" +
  'local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  "local left_ms = text and redis.call('PTTL', fence) or 0\n" +
  "if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end\n" +
  "return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)\n" +
  'end\n' +
  'local function keep_counter(fence, last, ttl_ms, now_ms, lease_ms)\n' +
  "local text = redis.pcall('GET', fence)\n" +
  "if type(text) == 'table' then return end\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored then return end\n' +
  'if stored < last then\n' +
  'store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  'elseif ttl_ms > 0 then\n' +
  "redis.pcall('PEXPIRE', fence, counter_life_ms(stored, ttl_ms, now_ms, lease_ms), 'GT')\n" +
  'end\n' +
  'end\n' +
  'local function words_key(key, owner)\n' +
  "local tagged = string.match(key, '{') and key or '{' .. key .. '}'\n" +
  "return 'holdfast_revoked:' .. tagged .. ':' .. owner\n" +
  'end\n' +
  'local function left_words(key, owner)\n' +
  'local left = words_key(key, owner)\n' +
  "local words = redis.pcall('GET', left)\n" +
  "if type(words) ~= 'string' or #words > 2048 or string.sub(words, 1, 8) ~= 'revoked ' then return nil end\n" +
  'return string.sub(words, 9)\n' +
  'end\n' +
  'local outcomes = {}\n' +
  'local now_ms = server_now()\n' +
  'for i = 1, #KEYS / 2 do\n' +
  'local lock = KEYS[2 * i - 1]\n' +
  'local fence = KEYS[2 * i]\n' +
  'local holder = ARGV[4 * i - 3]\n' +
  'local lease_ms = ARGV[4 * i - 2]\n' +
  'local last_fence = tonumber(ARGV[4 * i - 1])\n' +
  'local fence_ttl_ms = tonumber(ARGV[4 * i])\n' +
  "local mine = redis.pcall('HEXISTS', lock, holder)\n" +
  'if mine == 1 then\n' +
  "mine = redis.pcall('PEXPIRE', lock, lease_ms, 'GT')\n" +
  'if mine == 0 then\n' +
  "mine = redis.pcall('PEXPIRE', lock, math.max(redis.call('PTTL', lock), tonumber(lease_ms)))\n" +
  'end\n' +
  'end\n' +
  'if mine == 1 then\n' +
  'outcomes[i] = RENEWED\n' +
  'keep_counter(fence, last_fence, fence_ttl_ms, now_ms, tonumber(lease_ms))\n' +
  "elseif mine == 0 or string.sub(mine['err'], 1, 9) == 'WRONGTYPE' then\n" +
  'local words = left_words(lock, holder)\n' +
  'outcomes[i] = GONE\n' +
  "if words then outcomes[i] = 'REVOKED ' .. words end\n" +
  'else\n' +
  'outcomes[i] = FAILED\n' +
  'end\n' +
  'end\n' +
  'return outcomes\n';

const lockRenewText: ScriptText = {
  name: 'lock.renew',
  sha: '4fea8240d88b2da936254dd7bafa52438daef7e6',
  source: lockRenewSource,
};

export interface LockRenewItem {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** string: the last fence given out; or the lock's key again: the counter is then left alone */
  readonly fence: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** ms */
  readonly leaseMs: number;
  /** the last fence of the hold's block */
  readonly lastFence: number;
  /** ms: how long the counter outlives the lease and its last fence, 0 for ever */
  readonly fenceTtlMs: number;
}

export type LockRenewOutcome =
  | 'RENEWED'
  | 'GONE'
  | 'FAILED'
  | { readonly is: 'REVOKED'; readonly words: string };

/** Restarts the lease of each hold that still has its lock. Never re-creates one. */
export const lockRenew: BatchScript<LockRenewItem, LockRenewOutcome> = {
  text: lockRenewText,
  call(batch: readonly LockRenewItem[]): ScriptCall {
    const keys: string[] = [];
    const args: string[] = [];
    for (const item of batch) {
      keys.push(item.lock, item.fence);
      args.push(item.holder, String(item.leaseMs), String(item.lastFence), String(item.fenceTtlMs));
    }
    return { script: lockRenewText, keys, args };
  },
  decode(reply: Reply, count: number): LockRenewOutcome[] {
    const outcomes: LockRenewOutcome[] = [];
    for (const item of openBatch(lockRenewText, reply, count)) {
      if (typeof item === 'string' && item.startsWith('REVOKED ')) {
        outcomes.push({ is: 'REVOKED', words: item.slice(8) });
        continue;
      }
      switch (item) {
        case OUTCOMES.RENEWED:
          outcomes.push('RENEWED');
          break;
        case OUTCOMES.GONE:
          outcomes.push('GONE');
          break;
        case OUTCOMES.FAILED:
          outcomes.push('FAILED');
          break;
        default:
          refuseReply(lockRenewText, reply);
      }
    }
    return outcomes;
  },
};

const mutexAcquireSource =
  '#!lua\n' +
  'local GRANTED = 1\n' +
  'local HELD = 2\n' +
  'local LATE = 3\n' +
  'local CONFLICT = 4\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function has_line(line)\n' +
  "return redis.pcall('HLEN', line) ~= 0\n" +
  'end\n' +
  'local mutex = KEYS[1]\n' +
  'local line = KEYS[2]\n' +
  'local token = ARGV[1]\n' +
  'local lease_ms = ARGV[2]\n' +
  'local not_after_ms = tonumber(ARGV[3])\n' +
  'local ticket = ARGV[4]\n' +
  'local now_ms, now_us = server_now()\n' +
  'if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end\n' +
  "local may_linger = ticket ~= '' and string.match(ticket, '^%S+ %d+ %d*%al ')\n" +
  "local is_alone = ticket == '-' or (not may_linger and not has_line(line))\n" +
  "if is_alone and redis.call('SET', mutex, token, 'NX', 'PX', lease_ms) then return now_ms end\n" +
  'local function found_instead(failure, key)\n' +
  "if not string.match(failure['err'], '^WRONGTYPE') then error(failure) end\n" +
  "local found = redis.pcall('TYPE', key)\n" +
  "if found['err'] then return 'a value of another type' end\n" +
  "return 'a ' .. found['ok']\n" +
  'end\n' +
  'local function is_own_kind(ticket)\n' +
  "return string.match(ticket.holder, ':holdfast$')\n" +
  'end\n' +
  'local function make_owner(mutex, ticket)\n' +
  "if redis.pcall('SET', mutex, ticket.holder, 'PX', ticket.claim_ms)['err'] then return nil end\n" +
  'return 0, 0\n' +
  'end\n' +
  'local function unmake_owner(mutex)\n' +
  "redis.call('DEL', mutex)\n" +
  'end\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local LINE_MS = 20000\n' +
  'local WINDOW_MS_MAX = 80\n' +
  'local function read_line(line, holder)\n' +
  "local fields = redis.pcall('HLEN', line)\n" +
  "if type(fields) == 'table' then\n" +
  "if not string.match(fields['err'], '^WRONGTYPE') then error(fields) end\n" +
  "return nil, 'something else under the key of its line of waiters'\n" +
  'end\n' +
  'if fields == 0 then return nil end\n' +
  "local own = '#' .. holder\n" +
  "local found = redis.call('HMGET', line, 'first', 'last', 'open', 'window', 'run', 'since', 'guest', 'linger', own)\n" +
  'local state = { place = tonumber(found[9]), tickets = math.max(0, math.floor((fields - 8) / 2)) }\n' +
  'state.first, state.last, state.open = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])\n' +
  'state.window, state.run = tonumber(found[4]), tonumber(found[5])\n' +
  'state.since, state.guest = tonumber(found[6]), tonumber(found[7])\n' +
  'local is_whole = found[8] and state.first and state.last and state.open and state.window and state.run and state.since\n' +
  'if is_whole and state.guest then return state end\n' +
  "redis.call('DEL', line)\n" +
  'return nil\n' +
  'end\n' +
  'local function new_line(line, now_ms, linger)\n' +
  'require_expiry(line, LINE_MS)\n' +
  "local counts = { 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0 }\n" +
  "redis.call('HSET', line, 'linger', linger, unpack(counts))\n" +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'return { tickets = 0, first = 1, last = 0, open = 0, window = 0, run = 0, since = now_ms, guest = 0 }\n' +
  'end\n' +
  'local function open_ms(state, now_ms)\n' +
  'local left_ms = state.open - now_ms\n' +
  'if left_ms > WINDOW_MS_MAX then return 0 end\n' +
  'return math.max(0, left_ms)\n' +
  'end\n' +
  'local function remove(line, state, place, holder)\n' +
  "redis.call('HDEL', line, place, '#' .. holder)\n" +
  'state.tickets = state.tickets - 1\n' +
  'end\n' +
  'local function read_ticket(text)\n' +
  'local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =\n' +
  "string.match(text or '', '^(%S+) (%S+) (%d+) ([1-9]%d*) ([1-9]%d*) (%d+) (%d+) (%d+) (%a) (.*)$')\n" +
  'if not holder or #claim_ms > 12 or #fences > 9 then return nil end\n' +
  'return {\n' +
  'holder = holder,\n' +
  'echo = echo,\n' +
  'lease_ms = lease_ms,\n' +
  'claim_ms = claim_ms,\n' +
  'fences = fences,\n' +
  'fence_ttl_ms = fence_ttl_ms,\n' +
  'deadline_ms = deadline_ms,\n' +
  'since_ms = since_ms,\n' +
  'mode = mode,\n' +
  'channel = channel,\n' +
  '}\n' +
  'end\n' +
  'local function write_ticket(ticket)\n' +
  "local terms = ticket.lease_ms .. ' ' .. ticket.claim_ms .. ' ' .. ticket.fences .. ' ' .. ticket.fence_ttl_ms\n" +
  "local times = ticket.deadline_ms .. ' ' .. ticket.since_ms\n" +
  "return ticket.holder .. ' ' .. ticket.echo .. ' ' .. terms .. ' ' .. times .. ' ' .. ticket.mode .. ' ' .. ticket.channel\n" +
  'end\n' +
  'local function send(ticket, message)\n' +
  'local received\n' +
  "if ticket.mode == 's' then\n" +
  "received = redis.pcall('SPUBLISH', ticket.channel, message)\n" +
  'else\n' +
  "received = redis.pcall('PUBLISH', ticket.channel, message)\n" +
  'end\n' +
  "if type(received) == 'number' then return received end\n" +
  'end\n' +
  'local function mark_deaf(line, place, ticket)\n' +
  "ticket.mode = 'n'\n" +
  "redis.call('HSET', line, place, write_ticket(ticket))\n" +
  'end\n' +
  'local function tell(line, place, ticket, message)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  'local received = send(ticket, message)\n' +
  'if not received then return false end\n' +
  "if received > 0 or ticket.mode == 'b' then return true end\n" +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local function listens(line, place, ticket)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  "if ticket.mode == 'b' then return true end\n" +
  'local counted\n' +
  "if ticket.mode == 's' then\n" +
  "counted = redis.pcall('PUBSUB', 'SHARDNUMSUB', ticket.channel)\n" +
  'else\n' +
  "counted = redis.pcall('PUBSUB', 'NUMSUB', ticket.channel)\n" +
  'end\n' +
  'if counted[2] ~= 0 then return true end\n' +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local TICKET_MS = 15000\n' +
  'local TICKETS_MAX = 10000\n' +
  'local function place_of(state)\n' +
  'if not state.place then return 0 end\n' +
  'return math.max(1, math.min(state.place - state.first + 1, state.tickets))\n' +
  'end\n' +
  'local function join(line, state, holder, wanted, lease_ms, fences, fence_ttl_ms, now_ms)\n' +
  "local echo, claim_ms, heard, mode, channel = string.match(wanted, '^(%S+) (%d+) (%d?%d?)(%a)l? (.*)$')\n" +
  "if not echo then error({ err = 'ERR expected a ticket of four parts' }) end\n" +
  "state = state or new_line(line, now_ms, '')\n" +
  'local ticket = { holder = holder, echo = echo, lease_ms = lease_ms, claim_ms = claim_ms, mode = mode, channel = channel }\n' +
  "ticket.fences, ticket.fence_ttl_ms = string.format('%.0f', fences), string.format('%.0f', fence_ttl_ms)\n" +
  "ticket.deadline_ms, ticket.since_ms = string.format('%.0f', now_ms + TICKET_MS), string.format('%.0f', now_ms)\n" +
  'if state.place then\n' +
  "local known = read_ticket(redis.call('HMGET', line, state.place)[1])\n" +
  'if known then ticket.since_ms = known.since_ms end\n' +
  "if known and mode == 'n' then ticket.mode, ticket.channel = known.mode, known.channel end\n" +
  "redis.call('HSET', line, state.place, write_ticket(ticket))\n" +
  'elseif state.tickets < TICKETS_MAX then\n' +
  'state.place, state.last, state.tickets = state.last + 1, state.last + 1, state.tickets + 1\n' +
  "redis.call('HSET', line, state.place, write_ticket(ticket), '#' .. holder, state.place, 'last', state.place)\n" +
  'end\n' +
  "state.is_deaf = ticket.mode == 'n'\n" +
  'state.heard = state.run == 0 and place_of(state) == 1 and tonumber(heard) or 0\n' +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'return state\n' +
  'end\n' +
  'local DEADLINE_MS_MAX = 60000\n' +
  'local function serve(key, fence, line, place, ticket, asker, now_ms, now_us)\n' +
  "if ticket.holder == asker then return 'asker' end\n" +
  'local left_ms = tonumber(ticket.deadline_ms) - now_ms\n' +
  'if left_ms < 0 or left_ms > DEADLINE_MS_MAX then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'gone'\n" +
  'end\n' +
  'if not is_own_kind(ticket) then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'passed'\n" +
  'end\n' +
  "if not listens(line, place, ticket) then return 'passed' end\n" +
  'local first, count = make_owner(key, ticket, fence, now_ms, now_us)\n' +
  "if not first then return 'blocked' end\n" +
  "if send(ticket, string.format('g %s %.0f %.0f', ticket.echo, first, count)) then return 'given' end\n" +
  'unmake_owner(key, ticket)\n' +
  "return 'passed'\n" +
  'end\n' +
  'local PLACES_MAX, READ_MAX = 20000, 256\n' +
  'local function advance(line, state, passed, rest)\n' +
  'local first = rest - #passed\n' +
  'local empty = first - state.first\n' +
  'if empty < 64 or empty < #passed then\n' +
  'state.first = passed[1] and passed[1].place or rest\n' +
  'return\n' +
  'end\n' +
  'for i = #passed, 1, -1 do\n' +
  'local from, to, ticket = passed[i].place, first + i - 1, passed[i].ticket\n' +
  'if from ~= to then\n' +
  "redis.call('HSET', line, to, write_ticket(ticket), '#' .. ticket.holder, to)\n" +
  "redis.call('HDEL', line, from)\n" +
  'if from == state.place then state.place = to end\n' +
  'end\n' +
  'end\n' +
  'state.first = first\n' +
  'end\n' +
  'local function settle(key, fence, line, state, asker, now_ms, now_us)\n' +
  "if open_ms(state, now_ms) > 0 then return 'open', '' end\n" +
  "local outcome, owner, passed, front = 'nobody', '', {}, state.first\n" +
  'local rest, last, size = front, math.min(state.last, front + PLACES_MAX - 1), 1\n' +
  "while rest <= last and outcome == 'nobody' do\n" +
  'local places = {}\n' +
  'for i = 1, math.min(size, last - rest + 1) do places[i] = rest + i - 1 end\n' +
  "local texts = redis.call('HMGET', line, unpack(places))\n" +
  'for i = 1, #places do\n' +
  'local ticket = read_ticket(texts[i])\n' +
  "local fate = ticket and serve(key, fence, line, places[i], ticket, asker, now_ms, now_us) or 'empty'\n" +
  "if fate == 'passed' then passed[#passed + 1] = { place = places[i], ticket = ticket } end\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'gone' then remove(line, state, places[i], ticket.holder) end\n" +
  "rest = places[i] + (fate == 'blocked' and 0 or 1)\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'blocked' then\n" +
  'outcome, owner = fate, ticket.holder\n' +
  'break\n' +
  'end\n' +
  'end\n' +
  'size = math.min(READ_MAX, 2 * size)\n' +
  'end\n' +
  'advance(line, state, passed, rest)\n' +
  "if outcome == 'asker' then state.place = nil end\n" +
  "local is_served = outcome == 'asker' or outcome == 'given'\n" +
  'if is_served then state.run = state.run + 1 end\n' +
  "if is_served or state.first > front then redis.call('HSET', line, 'first', state.first, 'run', state.run) end\n" +
  'return outcome, owner\n' +
  'end\n' +
  'local function must_wait(key, fence, line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms, now_us)\n' +
  "if not state then return false, '' end\n" +
  'if state.tickets == 0 and open_ms(state, now_ms) == 0 then\n' +
  "redis.call('HSET', line, 'run', state.run + 1)\n" +
  "return false, ''\n" +
  'end\n' +
  "if ticket ~= '' then join(line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms) end\n" +
  'if state.is_deaf and state.place and open_ms(state, now_ms) > 0 then\n' +
  'remove(line, state, state.place, holder)\n' +
  'state.place, state.open = nil, 0\n' +
  "redis.call('HSET', line, 'open', 0, 'window', 0)\n" +
  "return false, ''\n" +
  'end\n' +
  'local outcome, owner = settle(key, fence, line, state, holder, now_ms, now_us)\n' +
  "if outcome == 'nobody' and not state.place then\n" +
  "redis.call('HSET', line, 'run', state.run + 1)\n" +
  "return false, ''\n" +
  'end\n' +
  "return outcome ~= 'asker' and outcome ~= 'blocked', owner\n" +
  'end\n' +
  'local function listeners_of(mode, channel)\n' +
  'local count = 0\n' +
  "if mode == 'plain' or mode == 'both' then count = redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0 end\n" +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local sharded = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0\n" +
  'if sharded > count then count = sharded end\n' +
  'end\n' +
  'return count\n' +
  'end\n' +
  'local WINDOW_MS_MIN = 5\n' +
  'local RUN_WINDOWS = 10\n' +
  'local RUN_MS_POLLED = 40\n' +
  'local SHARE_UNSEEN = 50\n' +
  'local SHARE_SEEN = 8\n' +
  'local SEEN_MS = 60000\n' +
  'local function window_ms(state, mode, channel, is_polled, now_ms)\n' +
  'local run_ms, unseen_ms = now_ms - state.since, now_ms - state.guest\n' +
  'if run_ms < 0 then run_ms = RUN_WINDOWS * WINDOW_MS_MAX end\n' +
  'if state.run > 0 and run_ms >= RUN_WINDOWS * state.window then\n' +
  'local listeners = listeners_of(mode, channel)\n' +
  'local turns = math.max(1, -state.window)\n' +
  'local is_due = listeners > 0 and state.run >= turns * (state.tickets + 1) / listeners - 0.5\n' +
  'if is_due then return math.min(WINDOW_MS_MAX, math.max(WINDOW_MS_MIN, 2 * state.window)) end\n' +
  'end\n' +
  'if is_polled and state.tickets > 0 and run_ms >= RUN_MS_POLLED then\n' +
  'local share = unseen_ms >= 0 and unseen_ms < SEEN_MS and SHARE_SEEN or SHARE_UNSEEN\n' +
  'return math.min(WINDOW_MS_MAX, math.max(1, math.floor(run_ms / share)))\n' +
  'end\n' +
  'return 0\n' +
  'end\n' +
  'local function open_window(line, length_ms, now_ms)\n' +
  "redis.call('HSET', line, 'open', now_ms + length_ms, 'window', length_ms, 'run', 0, 'since', now_ms)\n" +
  'end\n' +
  'local function leave_to_guests(key, line)\n' +
  "if redis.call('PTTL', key) ~= -2 then return end\n" +
  'local now_ms = server_now()\n' +
  "new_line(line, now_ms, '')\n" +
  'open_window(line, WINDOW_MS_MIN, now_ms)\n' +
  'end\n' +
  'local function note_guest(line, now_ms)\n' +
  "redis.call('HSET', line, 'window', 0, 'guest', now_ms)\n" +
  'end\n' +
  'local function keep_unowned(line, state, holder, ticket, now_ms)\n' +
  "local echo, mode, channel = string.match(ticket, '^(%S+) %d+ %d*(%a)l (.*)$')\n" +
  "if not echo or mode == 'n' then return 0 end\n" +
  'local tickets = state and state.tickets or 0\n' +
  "local may_write = redis.acl_check_cmd('PEXPIRE', line, LINE_MS) and redis.acl_check_cmd('HSET', line, 'linger', '')\n" +
  'if tickets > 0 or not may_write then return math.max(1, tickets) end\n' +
  "local keeper = holder .. ' ' .. echo .. ' ' .. mode .. ' ' .. channel\n" +
  'if state then\n' +
  "redis.call('HSET', line, 'linger', keeper)\n" +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'else\n' +
  'new_line(line, now_ms, keeper)\n' +
  'end\n' +
  'return 0\n' +
  'end\n' +
  'local function want(line, owner)\n' +
  "local known = redis.pcall('HMGET', line, 'linger')\n" +
  "local holder, echo, mode, channel = string.match(known[1] or '', '^(%S+) (%S+) (%a) (.*)$')\n" +
  'if holder ~= owner then return end\n' +
  "if mode == 's' then\n" +
  "redis.pcall('SPUBLISH', channel, 'w ' .. echo)\n" +
  'else\n' +
  "redis.pcall('PUBLISH', channel, 'w ' .. echo)\n" +
  'end\n' +
  'end\n' +
  'local state, found\n' +
  "if ticket ~= '-' then state, found = read_line(line, token) end\n" +
  'if found then return { CONFLICT, now_ms, found } end\n' +
  "if state and redis.call('PTTL', mutex) == -2 then\n" +
  'local waits, owner = must_wait(mutex, mutex, line, state, token, ticket, lease_ms, 1, 0, now_ms, now_us)\n' +
  'if waits then\n' +
  "local left_ms, shown = redis.call('PTTL', mutex), string.sub(owner, 1, 8)\n" +
  'return { HELD, now_ms, left_ms, shown, place_of(state), state.tickets, open_ms(state, now_ms), 0 }\n' +
  'end\n' +
  'end\n' +
  "local is_new = not is_alone and redis.call('SET', mutex, token, 'NX', 'PX', lease_ms)\n" +
  "local owner = is_new and token or redis.pcall('GET', mutex)\n" +
  "if type(owner) == 'table' then return { CONFLICT, now_ms, found_instead(owner, mutex) } end\n" +
  'if owner ~= token then\n' +
  "local shown, ttl_ms = string.sub(owner, 1, 8), redis.call('PTTL', mutex)\n" +
  "local is_guest = string.match(owner, '^[0-9a-f]+:holdfast$') and 0 or 1\n" +
  "if ticket ~= '-' then want(line, owner) end\n" +
  "if ticket == '' or ticket == '-' then return { HELD, now_ms, ttl_ms, shown, 0, 0, 0, is_guest } end\n" +
  'state = join(line, state, token, ticket, lease_ms, 1, 0, now_ms)\n' +
  'if is_guest == 1 then note_guest(line, now_ms) end\n' +
  'return { HELD, now_ms, ttl_ms, shown, place_of(state), state.tickets, 0, is_guest }\n' +
  'end\n' +
  "if not is_new and redis.call('PTTL', mutex) < tonumber(lease_ms) then redis.call('PEXPIRE', mutex, lease_ms) end\n" +
  'local behind = keep_unowned(line, state, token, ticket, now_ms)\n' +
  'if behind > 0 then return { GRANTED, now_ms, behind } end\n' +
  'return now_ms\n';

const mutexAcquireText: ScriptText = {
  name: 'mutex.acquire',
  sha: 'c2fa82697c6608acf9f6d8d4a765f4104a7ea4d6',
  source: mutexAcquireSource,
  bundle: {
    name: 'mutex.acquire (bundle)',
    sha: '146ea0134b5b86abc40a0cf50316b5a1d2c64c5e',
    source: bundleSource(mutexAcquireSource, { headLength: 348, keys: 2, args: 4, isTimed: true, line: 2 }),
  },
};

export interface MutexAcquireInput {
  /** string: the owner's token */
  readonly mutex: string;
  /** hash: who waits, see include/line.lua */
  readonly line: string;
  /** random, one per hold */
  readonly token: string;
  /** ms */
  readonly leaseMs: number;
  /** ms of server time: refuse when later, 0 never */
  readonly notAfterMs: number;
  /** echo, claim in ms, turns heard with mode, and channel, to wait in the line; empty not to; `-` where there is no line */
  readonly ticket: string;
}

export type MutexAcquireOutcome =
  | { readonly is: 'GRANTED'; readonly nowMs: number; readonly tickets?: number }
  | {
      readonly is: 'HELD';
      readonly nowMs: number;
      readonly ttlMs: number;
      readonly owner: string;
      readonly place: number;
      readonly tickets: number;
      readonly openMs: number;
      readonly isGuest: number;
    }
  | { readonly is: 'LATE'; readonly nowMs: number }
  | { readonly is: 'CONFLICT'; readonly nowMs: number; readonly found: string };

/** Grants the mutex to one token, or says for how long it is taken, and keeps the token's place in the line. */
export const mutexAcquire: Script<MutexAcquireInput, MutexAcquireOutcome> = {
  text: mutexAcquireText,
  call(input: MutexAcquireInput): ScriptCall {
    return {
      script: mutexAcquireText,
      keys: [input.mutex, input.line],
      args: [input.token, String(input.leaseMs), String(input.notAfterMs), input.ticket],
    };
  },
  decode(reply: Reply): MutexAcquireOutcome {
    if (typeof reply === 'number') return { is: 'GRANTED', nowMs: bareInteger(mutexAcquireText, reply) };
    const items = openReply(mutexAcquireText, reply);
    switch (items[0]) {
      case OUTCOMES.GRANTED:
        requireItems(mutexAcquireText, items, 3);
        return {
          is: 'GRANTED',
          nowMs: integerAt(mutexAcquireText, items, 1),
          tickets: integerAt(mutexAcquireText, items, 2),
        };
      case OUTCOMES.HELD:
        requireItems(mutexAcquireText, items, 8);
        return {
          is: 'HELD',
          nowMs: integerAt(mutexAcquireText, items, 1),
          ttlMs: integerAt(mutexAcquireText, items, 2),
          owner: stringAt(mutexAcquireText, items, 3),
          place: integerAt(mutexAcquireText, items, 4),
          tickets: integerAt(mutexAcquireText, items, 5),
          openMs: integerAt(mutexAcquireText, items, 6),
          isGuest: integerAt(mutexAcquireText, items, 7),
        };
      case OUTCOMES.LATE:
        requireItems(mutexAcquireText, items, 2);
        return { is: 'LATE', nowMs: integerAt(mutexAcquireText, items, 1) };
      case OUTCOMES.CONFLICT:
        requireItems(mutexAcquireText, items, 3);
        return {
          is: 'CONFLICT',
          nowMs: integerAt(mutexAcquireText, items, 1),
          found: stringAt(mutexAcquireText, items, 2),
        };
      default:
        return refuseReply(mutexAcquireText, reply);
    }
  },
};

const mutexReleaseSource =
  '#!lua flags=allow-oom\n' +
  'local RELEASED = 5\n' +
  'local LEFT = 16\n' +
  'local GONE = 6\n' +
  'local function has_line(line)\n' +
  "return redis.pcall('HLEN', line) ~= 0\n" +
  'end\n' +
  'local function notify(mode, channel, message)\n' +
  'local receivers = 0\n' +
  "if mode == 'plain' or mode == 'both' then\n" +
  "local heard = redis.pcall('PUBLISH', channel, message)\n" +
  "if type(heard) == 'number' then receivers = heard end\n" +
  'end\n' +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local heard = redis.pcall('SPUBLISH', channel, message)\n" +
  "if type(heard) == 'number' and heard > receivers then receivers = heard end\n" +
  'end\n' +
  'return receivers\n' +
  'end\n' +
  'local mutex = KEYS[1]\n' +
  'local line = KEYS[2]\n' +
  'local token = ARGV[1]\n' +
  'local channel = ARGV[2]\n' +
  'local mode = ARGV[3]\n' +
  'local is_vote = tonumber(ARGV[4])\n' +
  "local owner = redis.pcall('GET', mutex)\n" +
  'local was_owner = owner == token\n' +
  "if was_owner then redis.call('DEL', mutex) end\n" +
  'local receivers = 0\n' +
  'if is_vote == 1 or not has_line(line) then\n' +
  "if type(owner) == 'table' then error(owner) end\n" +
  'if not was_owner then return { GONE } end\n' +
  "receivers = notify(mode, channel, '0')\n" +
  'return receivers\n' +
  'end\n' +
  'local function is_own_kind(ticket)\n' +
  "return string.match(ticket.holder, ':holdfast$')\n" +
  'end\n' +
  'local function make_owner(mutex, ticket)\n' +
  "if redis.pcall('SET', mutex, ticket.holder, 'PX', ticket.claim_ms)['err'] then return nil end\n" +
  'return 0, 0\n' +
  'end\n' +
  'local function unmake_owner(mutex)\n' +
  "redis.call('DEL', mutex)\n" +
  'end\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local LINE_MS = 20000\n' +
  'local WINDOW_MS_MAX = 80\n' +
  'local function read_line(line, holder)\n' +
  "local fields = redis.pcall('HLEN', line)\n" +
  "if type(fields) == 'table' then\n" +
  "if not string.match(fields['err'], '^WRONGTYPE') then error(fields) end\n" +
  "return nil, 'something else under the key of its line of waiters'\n" +
  'end\n' +
  'if fields == 0 then return nil end\n' +
  "local own = '#' .. holder\n" +
  "local found = redis.call('HMGET', line, 'first', 'last', 'open', 'window', 'run', 'since', 'guest', 'linger', own)\n" +
  'local state = { place = tonumber(found[9]), tickets = math.max(0, math.floor((fields - 8) / 2)) }\n' +
  'state.first, state.last, state.open = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])\n' +
  'state.window, state.run = tonumber(found[4]), tonumber(found[5])\n' +
  'state.since, state.guest = tonumber(found[6]), tonumber(found[7])\n' +
  'local is_whole = found[8] and state.first and state.last and state.open and state.window and state.run and state.since\n' +
  'if is_whole and state.guest then return state end\n' +
  "redis.call('DEL', line)\n" +
  'return nil\n' +
  'end\n' +
  'local function new_line(line, now_ms, linger)\n' +
  'require_expiry(line, LINE_MS)\n' +
  "local counts = { 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0 }\n" +
  "redis.call('HSET', line, 'linger', linger, unpack(counts))\n" +
  "redis.call('PEXPIRE', line, LINE_MS)\n" +
  'return { tickets = 0, first = 1, last = 0, open = 0, window = 0, run = 0, since = now_ms, guest = 0 }\n' +
  'end\n' +
  'local function open_ms(state, now_ms)\n' +
  'local left_ms = state.open - now_ms\n' +
  'if left_ms > WINDOW_MS_MAX then return 0 end\n' +
  'return math.max(0, left_ms)\n' +
  'end\n' +
  'local function remove(line, state, place, holder)\n' +
  "redis.call('HDEL', line, place, '#' .. holder)\n" +
  'state.tickets = state.tickets - 1\n' +
  'end\n' +
  'local function read_ticket(text)\n' +
  'local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =\n' +
  "string.match(text or '', '^(%S+) (%S+) (%d+) ([1-9]%d*) ([1-9]%d*) (%d+) (%d+) (%d+) (%a) (.*)$')\n" +
  'if not holder or #claim_ms > 12 or #fences > 9 then return nil end\n' +
  'return {\n' +
  'holder = holder,\n' +
  'echo = echo,\n' +
  'lease_ms = lease_ms,\n' +
  'claim_ms = claim_ms,\n' +
  'fences = fences,\n' +
  'fence_ttl_ms = fence_ttl_ms,\n' +
  'deadline_ms = deadline_ms,\n' +
  'since_ms = since_ms,\n' +
  'mode = mode,\n' +
  'channel = channel,\n' +
  '}\n' +
  'end\n' +
  'local function write_ticket(ticket)\n' +
  "local terms = ticket.lease_ms .. ' ' .. ticket.claim_ms .. ' ' .. ticket.fences .. ' ' .. ticket.fence_ttl_ms\n" +
  "local times = ticket.deadline_ms .. ' ' .. ticket.since_ms\n" +
  "return ticket.holder .. ' ' .. ticket.echo .. ' ' .. terms .. ' ' .. times .. ' ' .. ticket.mode .. ' ' .. ticket.channel\n" +
  'end\n' +
  'local function send(ticket, message)\n' +
  'local received\n' +
  "if ticket.mode == 's' then\n" +
  "received = redis.pcall('SPUBLISH', ticket.channel, message)\n" +
  'else\n' +
  "received = redis.pcall('PUBLISH', ticket.channel, message)\n" +
  'end\n' +
  "if type(received) == 'number' then return received end\n" +
  'end\n' +
  'local function mark_deaf(line, place, ticket)\n' +
  "ticket.mode = 'n'\n" +
  "redis.call('HSET', line, place, write_ticket(ticket))\n" +
  'end\n' +
  'local function tell(line, place, ticket, message)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  'local received = send(ticket, message)\n' +
  'if not received then return false end\n' +
  "if received > 0 or ticket.mode == 'b' then return true end\n" +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local function listens(line, place, ticket)\n' +
  "if ticket.mode == 'n' then return false end\n" +
  "if ticket.mode == 'b' then return true end\n" +
  'local counted\n' +
  "if ticket.mode == 's' then\n" +
  "counted = redis.pcall('PUBSUB', 'SHARDNUMSUB', ticket.channel)\n" +
  'else\n' +
  "counted = redis.pcall('PUBSUB', 'NUMSUB', ticket.channel)\n" +
  'end\n' +
  'if counted[2] ~= 0 then return true end\n' +
  'mark_deaf(line, place, ticket)\n' +
  'return false\n' +
  'end\n' +
  'local DEADLINE_MS_MAX = 60000\n' +
  'local function serve(key, fence, line, place, ticket, asker, now_ms, now_us)\n' +
  "if ticket.holder == asker then return 'asker' end\n" +
  'local left_ms = tonumber(ticket.deadline_ms) - now_ms\n' +
  'if left_ms < 0 or left_ms > DEADLINE_MS_MAX then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'gone'\n" +
  'end\n' +
  'if not is_own_kind(ticket) then\n' +
  "tell(line, place, ticket, string.format('a %s 0', ticket.echo))\n" +
  "return 'passed'\n" +
  'end\n' +
  "if not listens(line, place, ticket) then return 'passed' end\n" +
  'local first, count = make_owner(key, ticket, fence, now_ms, now_us)\n' +
  "if not first then return 'blocked' end\n" +
  "if send(ticket, string.format('g %s %.0f %.0f', ticket.echo, first, count)) then return 'given' end\n" +
  'unmake_owner(key, ticket)\n' +
  "return 'passed'\n" +
  'end\n' +
  'local PLACES_MAX, READ_MAX = 20000, 256\n' +
  'local function advance(line, state, passed, rest)\n' +
  'local first = rest - #passed\n' +
  'local empty = first - state.first\n' +
  'if empty < 64 or empty < #passed then\n' +
  'state.first = passed[1] and passed[1].place or rest\n' +
  'return\n' +
  'end\n' +
  'for i = #passed, 1, -1 do\n' +
  'local from, to, ticket = passed[i].place, first + i - 1, passed[i].ticket\n' +
  'if from ~= to then\n' +
  "redis.call('HSET', line, to, write_ticket(ticket), '#' .. ticket.holder, to)\n" +
  "redis.call('HDEL', line, from)\n" +
  'if from == state.place then state.place = to end\n' +
  'end\n' +
  'end\n' +
  'state.first = first\n' +
  'end\n' +
  'local function settle(key, fence, line, state, asker, now_ms, now_us)\n' +
  "if open_ms(state, now_ms) > 0 then return 'open', '' end\n" +
  "local outcome, owner, passed, front = 'nobody', '', {}, state.first\n" +
  'local rest, last, size = front, math.min(state.last, front + PLACES_MAX - 1), 1\n' +
  "while rest <= last and outcome == 'nobody' do\n" +
  'local places = {}\n' +
  'for i = 1, math.min(size, last - rest + 1) do places[i] = rest + i - 1 end\n' +
  "local texts = redis.call('HMGET', line, unpack(places))\n" +
  'for i = 1, #places do\n' +
  'local ticket = read_ticket(texts[i])\n' +
  "local fate = ticket and serve(key, fence, line, places[i], ticket, asker, now_ms, now_us) or 'empty'\n" +
  "if fate == 'passed' then passed[#passed + 1] = { place = places[i], ticket = ticket } end\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'gone' then remove(line, state, places[i], ticket.holder) end\n" +
  "rest = places[i] + (fate == 'blocked' and 0 or 1)\n" +
  "if fate == 'asker' or fate == 'given' or fate == 'blocked' then\n" +
  'outcome, owner = fate, ticket.holder\n' +
  'break\n' +
  'end\n' +
  'end\n' +
  'size = math.min(READ_MAX, 2 * size)\n' +
  'end\n' +
  'advance(line, state, passed, rest)\n' +
  "if outcome == 'asker' then state.place = nil end\n" +
  "local is_served = outcome == 'asker' or outcome == 'given'\n" +
  'if is_served then state.run = state.run + 1 end\n' +
  "if is_served or state.first > front then redis.call('HSET', line, 'first', state.first, 'run', state.run) end\n" +
  'return outcome, owner\n' +
  'end\n' +
  'local TOLD_MAX = 256\n' +
  'local function wake(line, state, in_ms)\n' +
  'for place = state.first, math.min(state.last, state.first + TOLD_MAX - 1) do\n' +
  "local ticket = read_ticket(redis.call('HMGET', line, place)[1])\n" +
  "if ticket and tell(line, place, ticket, string.format('a %s %.0f', ticket.echo, in_ms)) then return end\n" +
  'end\n' +
  'end\n' +
  'local function listeners_of(mode, channel)\n' +
  'local count = 0\n' +
  "if mode == 'plain' or mode == 'both' then count = redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0 end\n" +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local sharded = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0\n" +
  'if sharded > count then count = sharded end\n' +
  'end\n' +
  'return count\n' +
  'end\n' +
  'local WINDOW_MS_MIN = 5\n' +
  'local RUN_WINDOWS = 10\n' +
  'local RUN_MS_POLLED = 40\n' +
  'local SHARE_UNSEEN = 50\n' +
  'local SHARE_SEEN = 8\n' +
  'local SEEN_MS = 60000\n' +
  'local function window_ms(state, mode, channel, is_polled, now_ms)\n' +
  'local run_ms, unseen_ms = now_ms - state.since, now_ms - state.guest\n' +
  'if run_ms < 0 then run_ms = RUN_WINDOWS * WINDOW_MS_MAX end\n' +
  'if state.run > 0 and run_ms >= RUN_WINDOWS * state.window then\n' +
  'local listeners = listeners_of(mode, channel)\n' +
  'local turns = math.max(1, -state.window)\n' +
  'local is_due = listeners > 0 and state.run >= turns * (state.tickets + 1) / listeners - 0.5\n' +
  'if is_due then return math.min(WINDOW_MS_MAX, math.max(WINDOW_MS_MIN, 2 * state.window)) end\n' +
  'end\n' +
  'if is_polled and state.tickets > 0 and run_ms >= RUN_MS_POLLED then\n' +
  'local share = unseen_ms >= 0 and unseen_ms < SEEN_MS and SHARE_SEEN or SHARE_UNSEEN\n' +
  'return math.min(WINDOW_MS_MAX, math.max(1, math.floor(run_ms / share)))\n' +
  'end\n' +
  'return 0\n' +
  'end\n' +
  'local function open_window(line, length_ms, now_ms)\n' +
  "redis.call('HSET', line, 'open', now_ms + length_ms, 'window', length_ms, 'run', 0, 'since', now_ms)\n" +
  'end\n' +
  'local function leave_to_guests(key, line)\n' +
  "if redis.call('PTTL', key) ~= -2 then return end\n" +
  'local now_ms = server_now()\n' +
  "new_line(line, now_ms, '')\n" +
  'open_window(line, WINDOW_MS_MIN, now_ms)\n' +
  'end\n' +
  'local function note_guest(line, now_ms)\n' +
  "redis.call('HSET', line, 'window', 0, 'guest', now_ms)\n" +
  'end\n' +
  'local function leave(line, state, holder)\n' +
  'local place, front = state.place, state.first\n' +
  'state.place = nil\n' +
  'remove(line, state, place, holder)\n' +
  'if place ~= front then return place == front + 1 end\n' +
  'local first = place + 1\n' +
  "while first <= state.last and first < front + 1000 and redis.call('HEXISTS', line, first) == 0 do first = first + 1 end\n" +
  'state.first = first\n' +
  "redis.call('HSET', line, 'first', first)\n" +
  'return true\n' +
  'end\n' +
  'local function go_on(key, fence, line, holder, was_owner, mode, channel, is_polled)\n' +
  'local state = read_line(line, holder)\n' +
  'if not state then return nil end\n' +
  'local now_ms, now_us = server_now()\n' +
  'local was_waiting = state.place ~= nil\n' +
  'local was_front = was_waiting and leave(line, state, holder)\n' +
  "if redis.call('PTTL', key) ~= -2 then\n" +
  'if was_owner or was_front then wake(line, state, 0) end\n' +
  "return was_owner and notify(mode, channel, '0') or 0, was_waiting\n" +
  'end\n' +
  'local length_ms = was_owner and is_polled ~= nil and window_ms(state, mode, channel, is_polled, now_ms) or 0\n' +
  'if length_ms > 0 then\n' +
  'open_window(line, length_ms, now_ms)\n' +
  "local heard = notify(mode, channel, '0')\n" +
  'wake(line, state, is_polled and length_ms or 0)\n' +
  'return heard, was_waiting\n' +
  'end\n' +
  "local outcome = settle(key, fence, line, state, '', now_ms, now_us)\n" +
  "if outcome == 'given' then return 0, was_waiting end\n" +
  "if outcome == 'open' then wake(line, state, open_ms(state, now_ms)) end\n" +
  "if outcome == 'blocked' then wake(line, state, 0) end\n" +
  "local heard = was_owner and notify(mode, channel, '0') or 0\n" +
  "if heard == 0 and state.tickets == 0 and outcome == 'nobody' then redis.pcall('DEL', line) end\n" +
  'return heard, was_waiting\n' +
  'end\n' +
  'local is_done, heard, was_waiting = pcall(go_on, mutex, mutex, line, token, was_owner, mode, channel, true)\n' +
  'if was_owner then\n' +
  "receivers = is_done and heard or notify(mode, channel, '0')\n" +
  'return receivers\n' +
  'end\n' +
  "if not is_done then error(type(heard) == 'table' and heard or { err = heard }) end\n" +
  'if was_waiting then return { LEFT } end\n' +
  "if type(owner) == 'table' then error(owner) end\n" +
  'return { GONE }\n';

const mutexReleaseText: ScriptText = {
  name: 'mutex.release',
  sha: 'd2f2447e32a73ac9f67b6c624e7541da6e2da416',
  source: mutexReleaseSource,
  bundle: {
    name: 'mutex.release (bundle)',
    sha: 'f09be8c0683e868861bc23b12fff1e399f7e4c1c',
    source: bundleSource(mutexReleaseSource, { headLength: 566, keys: 2, args: 4, isTimed: false, line: 2 }),
  },
};

export interface MutexReleaseInput {
  /** string: the owner's token */
  readonly mutex: string;
  /** hash: who waits, see include/line.lua */
  readonly line: string;
  /** random, one per hold */
  readonly token: string;
  /** where those listen who cannot be told by name */
  readonly channel: string;
  /** how to tell them: nobody, plain, sharded or both */
  readonly mode: string;
  /** 1 on a server of a quorum, which has no line */
  readonly isVote: number;
}

export type MutexReleaseOutcome =
  | { readonly is: 'RELEASED'; readonly receivers: number }
  | { readonly is: 'LEFT' }
  | { readonly is: 'GONE' };

/** Deletes the mutex if the token is still its owner's, or ends a wait. The first in line who hears is the next owner. */
export const mutexRelease: Script<MutexReleaseInput, MutexReleaseOutcome> = {
  text: mutexReleaseText,
  call(input: MutexReleaseInput): ScriptCall {
    return {
      script: mutexReleaseText,
      keys: [input.mutex, input.line],
      args: [input.token, input.channel, input.mode, String(input.isVote)],
    };
  },
  decode(reply: Reply): MutexReleaseOutcome {
    if (typeof reply === 'number') return { is: 'RELEASED', receivers: bareInteger(mutexReleaseText, reply) };
    const items = openReply(mutexReleaseText, reply);
    switch (items[0]) {
      case OUTCOMES.RELEASED:
        requireItems(mutexReleaseText, items, 2);
        return { is: 'RELEASED', receivers: integerAt(mutexReleaseText, items, 1) };
      case OUTCOMES.LEFT:
        requireItems(mutexReleaseText, items, 1);
        return { is: 'LEFT' };
      case OUTCOMES.GONE:
        requireItems(mutexReleaseText, items, 1);
        return { is: 'GONE' };
      default:
        return refuseReply(mutexReleaseText, reply);
    }
  },
};

const mutexRenewSource =
  '#!lua flags=allow-oom\n' +
  'local RENEWED = 7\n' +
  'local GONE = 6\n' +
  'local FAILED = 8\n' +
  'local REVOKED = 18\n' +
  'local function words_key(key, owner)\n' +
  "local tagged = string.match(key, '{') and key or '{' .. key .. '}'\n" +
  "return 'holdfast_revoked:' .. tagged .. ':' .. owner\n" +
  'end\n' +
  'local function left_words(key, owner)\n' +
  'local left = words_key(key, owner)\n' +
  "local words = redis.pcall('GET', left)\n" +
  "if type(words) ~= 'string' or #words > 2048 or string.sub(words, 1, 8) ~= 'revoked ' then return nil end\n" +
  'return string.sub(words, 9)\n' +
  'end\n' +
  'local outcomes = {}\n' +
  'for i = 1, #KEYS do\n' +
  'local mutex = KEYS[i]\n' +
  'local token = ARGV[2 * i - 1]\n' +
  'local lease_ms = ARGV[2 * i]\n' +
  "local owner = redis.pcall('GET', mutex)\n" +
  'if owner == token then\n' +
  "owner = redis.pcall('PEXPIRE', mutex, lease_ms, 'GT')\n" +
  'if owner == 0 then\n' +
  "owner = redis.pcall('PEXPIRE', mutex, math.max(redis.call('PTTL', mutex), tonumber(lease_ms)))\n" +
  'end\n' +
  'end\n' +
  'if owner == 1 then\n' +
  'outcomes[i] = RENEWED\n' +
  "elseif type(owner) ~= 'table' or string.sub(owner['err'], 1, 9) == 'WRONGTYPE' then\n" +
  'local words = left_words(mutex, redis.sha1hex(token))\n' +
  'outcomes[i] = GONE\n' +
  "if words then outcomes[i] = 'REVOKED ' .. words end\n" +
  'else\n' +
  'outcomes[i] = FAILED\n' +
  'end\n' +
  'end\n' +
  'return outcomes\n';

const mutexRenewText: ScriptText = {
  name: 'mutex.renew',
  sha: '527d287be0596f2c1204b9e2f265c838e4df4f97',
  source: mutexRenewSource,
};

export interface MutexRenewItem {
  /** string: the owner's token */
  readonly mutex: string;
  /** random, one per hold */
  readonly token: string;
  /** ms */
  readonly leaseMs: number;
}

export type MutexRenewOutcome =
  | 'RENEWED'
  | 'GONE'
  | 'FAILED'
  | { readonly is: 'REVOKED'; readonly words: string };

/** Restarts the lease of each mutex that still holds its token. Never re-creates one. */
export const mutexRenew: BatchScript<MutexRenewItem, MutexRenewOutcome> = {
  text: mutexRenewText,
  call(batch: readonly MutexRenewItem[]): ScriptCall {
    const keys: string[] = [];
    const args: string[] = [];
    for (const item of batch) {
      keys.push(item.mutex);
      args.push(item.token, String(item.leaseMs));
    }
    return { script: mutexRenewText, keys, args };
  },
  decode(reply: Reply, count: number): MutexRenewOutcome[] {
    const outcomes: MutexRenewOutcome[] = [];
    for (const item of openBatch(mutexRenewText, reply, count)) {
      if (typeof item === 'string' && item.startsWith('REVOKED ')) {
        outcomes.push({ is: 'REVOKED', words: item.slice(8) });
        continue;
      }
      switch (item) {
        case OUTCOMES.RENEWED:
          outcomes.push('RENEWED');
          break;
        case OUTCOMES.GONE:
          outcomes.push('GONE');
          break;
        case OUTCOMES.FAILED:
          outcomes.push('FAILED');
          break;
        default:
          refuseReply(mutexRenewText, reply);
      }
    }
    return outcomes;
  },
};

const onceBeginSource =
  '#!lua\n' +
  'local STARTED = 20\n' +
  'local DONE = 21\n' +
  'local FAILED = 8\n' +
  'local MISMATCH = 22\n' +
  'local HELD = 2\n' +
  'local LATE = 3\n' +
  'local CONFLICT = 4\n' +
  'local function server_now()\n' +
  "local time = redis.call('TIME')\n" +
  'local seconds, micros = tonumber(time[1]), tonumber(time[2])\n' +
  'return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros\n' +
  'end\n' +
  'local function found_instead(failure, key)\n' +
  "if not string.match(failure['err'], '^WRONGTYPE') then error(failure) end\n" +
  "local found = redis.pcall('TYPE', key)\n" +
  "if found['err'] then return 'a value of another type' end\n" +
  "return 'a ' .. found['ok']\n" +
  'end\n' +
  'local function read_record(record)\n' +
  "local found = redis.pcall('HMGET', record, 'state', 'owner', 'attempt', 'fence', 'print', 'reason', 'payload')\n" +
  "if found['err'] then return nil, found_instead(found, record) end\n" +
  "local state, attempt, fence = found[1], tonumber(found[3] or ''), tonumber(found[4] or '')\n" +
  "if not state and redis.call('HLEN', record) == 0 then return { attempt = 0 } end\n" +
  "local is_known = state == 'running' or state == 'idle' or state == 'done' or state == 'failed'\n" +
  "if not is_known or not attempt or not fence then return nil, 'a hash that is not a record' end\n" +
  "local kept = { state = state, owner = found[2] or '', attempt = attempt, fence = fence }\n" +
  "kept.print, kept.reason, kept.payload = found[5] or '', found[6] or '', found[7] or ''\n" +
  'return kept\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local fence = KEYS[2]\n' +
  'local record = KEYS[3]\n' +
  'local holder = ARGV[1]\n' +
  'local lease_ms = ARGV[2]\n' +
  'local fence_ttl_ms = tonumber(ARGV[3])\n' +
  'local not_after_ms = tonumber(ARGV[4])\n' +
  'local print = ARGV[5]\n' +
  'local attempts = tonumber(ARGV[6])\n' +
  'local record_ttl_ms = ARGV[7]\n' +
  'local keep_failure_ms = ARGV[8]\n' +
  'local now_ms, now_us = server_now()\n' +
  'if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end\n' +
  'local kept, strange = read_record(record)\n' +
  'if strange then return { CONFLICT, now_ms, strange } end\n' +
  "if kept.state and print ~= '' and kept.print ~= print then return { MISMATCH, now_ms, kept.attempt } end\n" +
  "if kept.state == 'done' then return { DONE, now_ms, kept.attempt, kept.payload } end\n" +
  "if kept.state == 'failed' then return { FAILED, now_ms, kept.attempt, kept.reason, kept.payload } end\n" +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  'return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms\n' +
  'end\n' +
  'local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if ttl_ms == 0 then return redis.pcall('SET', fence, last) end\n" +
  'local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)\n' +
  "local left_ms = text and redis.call('PTTL', fence) or 0\n" +
  "if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end\n" +
  "return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)\n" +
  'end\n' +
  'local function next_fences(fence, count, now_us, common_us)\n' +
  "local text = redis.pcall('GET', fence)\n" +
  "if type(text) == 'table' then return nil end\n" +
  "local stored = tonumber(string.match(text or '0', '^%d+$'))\n" +
  'if not stored or stored + count > 9007199254740991 then return nil end\n' +
  'local earliest_us = stored > 0 and now_us - 20000 or now_us\n' +
  'local from_us = now_us\n' +
  'if common_us >= earliest_us and common_us <= now_us + 100000 then from_us = common_us end\n' +
  'local first = math.max(stored + 1, from_us)\n' +
  'return first, math.max(first, math.min(first + count - 1, from_us + 1000)), text\n' +
  'end\n' +
  'local function reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)\n' +
  'local first, last, text = next_fences(fence, count, now_us, common_us)\n' +
  'if not first then\n' +
  "redis.call('GET', fence)\n" +
  "error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })\n" +
  'end\n' +
  'local reply = store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)\n' +
  "if reply['err'] then error(reply) end\n" +
  'return first, last - first + 1\n' +
  'end\n' +
  'local function hold_lock(lock, fence, holder, lease_ms, fences, fence_ttl_ms, now_ms, now_us, common_us)\n' +
  'require_expiry(lock, lease_ms)\n' +
  'local first, given = reserve_fences(fence, fences, fence_ttl_ms, now_ms, now_us, tonumber(lease_ms), common_us)\n' +
  "redis.call('HSET', lock, holder, '1')\n" +
  "redis.call('PEXPIRE', lock, lease_ms)\n" +
  'return first, given\n' +
  'end\n' +
  'local function is_lock(field, ttl_ms)\n' +
  "if #field[1] > 1024 or #field[2] > 15 or not string.match(field[2], '^%d+$') then return false end\n" +
  "return ttl_ms >= 0 or string.match(field[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') ~= nil\n" +
  'end\n' +
  'local function lock_of(lock)\n' +
  "local ttl_ms = redis.call('PTTL', lock)\n" +
  'if ttl_ms == -2 then return ttl_ms end\n' +
  "local field = redis.pcall('HGETALL', lock)\n" +
  "if field['err'] then return ttl_ms, nil, found_instead(field, lock) end\n" +
  "if #field ~= 2 or not is_lock(field, ttl_ms) then return ttl_ms, nil, 'a hash that is not a lock' end\n" +
  'return ttl_ms, field[1]\n' +
  'end\n' +
  'local function extend(lock, holder, lease_ms, ttl_ms)\n' +
  'require_expiry(lock, lease_ms)\n' +
  "if ttl_ms == -2 then redis.call('HSET', lock, holder, '1') end\n" +
  "if ttl_ms < tonumber(lease_ms) then redis.call('PEXPIRE', lock, lease_ms) end\n" +
  'end\n' +
  'local function use_up(record, kept, keep_ms)\n' +
  "local reason = kept.state == 'idle' and 'failed' or 'abandoned'\n" +
  'require_expiry(record, keep_ms)\n' +
  "redis.call('HSET', record, 'state', 'failed', 'owner', '', 'reason', reason)\n" +
  "redis.call('PEXPIRE', record, keep_ms)\n" +
  'return reason, kept.payload\n' +
  'end\n' +
  'local function start(record, holder, attempt, fence, print, ttl_ms)\n' +
  "redis.call('HSET', record, 'state', 'running', 'owner', holder, 'attempt', attempt, 'fence', fence, 'print', print,\n" +
  "'reason', '', 'payload', '')\n" +
  "redis.call('PEXPIRE', record, ttl_ms)\n" +
  'end\n' +
  'local ttl_ms, owner, obstacle = lock_of(lock)\n' +
  'if obstacle then return { CONFLICT, now_ms, obstacle } end\n' +
  'if owner and owner ~= holder then return { HELD, now_ms, ttl_ms, owner } end\n' +
  "if kept.state == 'running' and kept.owner == holder then\n" +
  'extend(lock, holder, lease_ms, ttl_ms)\n' +
  'return { STARTED, now_ms, kept.fence, kept.attempt }\n' +
  'end\n' +
  'if kept.attempt >= attempts then\n' +
  'local reason, payload = use_up(record, kept, keep_failure_ms)\n' +
  'return { FAILED, now_ms, kept.attempt, reason, payload }\n' +
  'end\n' +
  'require_expiry(record, record_ttl_ms)\n' +
  'local first_fence = hold_lock(lock, fence, holder, lease_ms, 1, fence_ttl_ms, now_ms, now_us, 0)\n' +
  'start(record, holder, kept.attempt + 1, first_fence, print, record_ttl_ms)\n' +
  'return { STARTED, now_ms, first_fence, kept.attempt + 1 }\n';

const onceBeginText: ScriptText = {
  name: 'once.begin',
  sha: '700211a52868d3c7f72db1dca64023bc0a621dd1',
  source: onceBeginSource,
};

export interface OnceBeginInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** string: the last fence given out */
  readonly fence: string;
  /** hash: state, owner, attempt, fence, print, reason, payload */
  readonly record: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** ms */
  readonly leaseMs: number;
  /** ms: how long the counter outlives the lease and its last fence, 0 for ever */
  readonly fenceTtlMs: number;
  /** ms of server time: refuse when later, 0 never */
  readonly notAfterMs: number;
  /** the fingerprint of the request; empty: any */
  readonly print: string;
  /** how many runs may start */
  readonly attempts: number;
  /** ms: how long the record of a run lives */
  readonly recordTtlMs: number;
  /** ms: how long the record lives when its attempts are used up */
  readonly keepFailureMs: number;
}

export type OnceBeginOutcome =
  | { readonly is: 'STARTED'; readonly nowMs: number; readonly firstFence: number; readonly attempt: number }
  | { readonly is: 'DONE'; readonly nowMs: number; readonly attempt: number; readonly payload: string }
  | {
      readonly is: 'FAILED';
      readonly nowMs: number;
      readonly attempt: number;
      readonly reason: string;
      readonly payload: string;
    }
  | { readonly is: 'MISMATCH'; readonly nowMs: number; readonly attempt: number }
  | { readonly is: 'HELD'; readonly nowMs: number; readonly ttlMs: number; readonly owner: string }
  | { readonly is: 'LATE'; readonly nowMs: number }
  | { readonly is: 'CONFLICT'; readonly nowMs: number; readonly found: string };

/** Starts a run of a once key, or says why not: its result, its failure, another request, or who runs it now. */
export const onceBegin: Script<OnceBeginInput, OnceBeginOutcome> = {
  text: onceBeginText,
  call(input: OnceBeginInput): ScriptCall {
    return {
      script: onceBeginText,
      keys: [input.lock, input.fence, input.record],
      args: [
        input.holder,
        String(input.leaseMs),
        String(input.fenceTtlMs),
        String(input.notAfterMs),
        input.print,
        String(input.attempts),
        String(input.recordTtlMs),
        String(input.keepFailureMs),
      ],
    };
  },
  decode(reply: Reply): OnceBeginOutcome {
    const items = openReply(onceBeginText, reply);
    switch (items[0]) {
      case OUTCOMES.STARTED:
        requireItems(onceBeginText, items, 4);
        return {
          is: 'STARTED',
          nowMs: integerAt(onceBeginText, items, 1),
          firstFence: integerAt(onceBeginText, items, 2),
          attempt: integerAt(onceBeginText, items, 3),
        };
      case OUTCOMES.DONE:
        requireItems(onceBeginText, items, 4);
        return {
          is: 'DONE',
          nowMs: integerAt(onceBeginText, items, 1),
          attempt: integerAt(onceBeginText, items, 2),
          payload: stringAt(onceBeginText, items, 3),
        };
      case OUTCOMES.FAILED:
        requireItems(onceBeginText, items, 5);
        return {
          is: 'FAILED',
          nowMs: integerAt(onceBeginText, items, 1),
          attempt: integerAt(onceBeginText, items, 2),
          reason: stringAt(onceBeginText, items, 3),
          payload: stringAt(onceBeginText, items, 4),
        };
      case OUTCOMES.MISMATCH:
        requireItems(onceBeginText, items, 3);
        return {
          is: 'MISMATCH',
          nowMs: integerAt(onceBeginText, items, 1),
          attempt: integerAt(onceBeginText, items, 2),
        };
      case OUTCOMES.HELD:
        requireItems(onceBeginText, items, 4);
        return {
          is: 'HELD',
          nowMs: integerAt(onceBeginText, items, 1),
          ttlMs: integerAt(onceBeginText, items, 2),
          owner: stringAt(onceBeginText, items, 3),
        };
      case OUTCOMES.LATE:
        requireItems(onceBeginText, items, 2);
        return { is: 'LATE', nowMs: integerAt(onceBeginText, items, 1) };
      case OUTCOMES.CONFLICT:
        requireItems(onceBeginText, items, 3);
        return {
          is: 'CONFLICT',
          nowMs: integerAt(onceBeginText, items, 1),
          found: stringAt(onceBeginText, items, 2),
        };
      default:
        return refuseReply(onceBeginText, reply);
    }
  },
};

const onceFinishSource =
  '#!lua flags=allow-oom\n' +
  'local STORED = 23\n' +
  'local GONE = 6\n' +
  'local CONFLICT = 4\n' +
  'local function found_instead(failure, key)\n' +
  "if not string.match(failure['err'], '^WRONGTYPE') then error(failure) end\n" +
  "local found = redis.pcall('TYPE', key)\n" +
  "if found['err'] then return 'a value of another type' end\n" +
  "return 'a ' .. found['ok']\n" +
  'end\n' +
  'local function notify(mode, channel, message)\n' +
  'local receivers = 0\n' +
  "if mode == 'plain' or mode == 'both' then\n" +
  "local heard = redis.pcall('PUBLISH', channel, message)\n" +
  "if type(heard) == 'number' then receivers = heard end\n" +
  'end\n' +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local heard = redis.pcall('SPUBLISH', channel, message)\n" +
  "if type(heard) == 'number' and heard > receivers then receivers = heard end\n" +
  'end\n' +
  'return receivers\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local record = KEYS[2]\n' +
  'local holder = ARGV[1]\n' +
  'local attempt = tonumber(ARGV[2])\n' +
  'local fence = tonumber(ARGV[3])\n' +
  'local print = ARGV[4]\n' +
  'local state = ARGV[5]\n' +
  'local reason = ARGV[6]\n' +
  'local payload = ARGV[7]\n' +
  'local keep_ms = ARGV[8]\n' +
  'local channel = ARGV[9]\n' +
  'local mode = ARGV[10]\n' +
  "local kept = redis.pcall('HMGET', record, 'state', 'owner', 'attempt')\n" +
  "if kept['err'] then return { CONFLICT, found_instead(kept, record) } end\n" +
  'local is_ours = kept[2] == holder and tonumber(kept[3]) == attempt\n' +
  "if is_ours and kept[1] ~= 'running' then return { STORED, 0 } end\n" +
  "local is_locked = redis.pcall('HEXISTS', lock, holder) == 1\n" +
  'if not is_ours and not is_locked then return { GONE } end\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'require_expiry(record, keep_ms)\n' +
  "redis.call('HSET', record, 'state', state, 'owner', holder, 'attempt', attempt, 'fence', fence, 'print', print,\n" +
  "'reason', reason, 'payload', payload)\n" +
  "redis.call('PEXPIRE', record, keep_ms)\n" +
  "if is_locked then redis.call('HDEL', lock, holder) end\n" +
  "local receivers = notify(mode, channel, '0')\n" +
  'return { STORED, receivers }\n';

const onceFinishText: ScriptText = {
  name: 'once.finish',
  sha: '1879dafe816aed199f51c1ea43032ea3e2bca2b5',
  source: onceFinishSource,
};

export interface OnceFinishInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** hash: state, owner, attempt, fence, print, reason, payload */
  readonly record: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** which run this was */
  readonly attempt: number;
  /** its fence */
  readonly fence: number;
  /** the fingerprint of the request, empty for none */
  readonly print: string;
  /** done, failed or idle */
  readonly state: string;
  /** why it failed; empty for a result */
  readonly reason: string;
  /** the result or the failure */
  readonly payload: string;
  /** ms: how long the record lives from now */
  readonly keepMs: number;
  /** where those listen who wait for the end */
  readonly channel: string;
  /** how to tell them: plain, sharded or both */
  readonly mode: string;
}

export type OnceFinishOutcome =
  | { readonly is: 'STORED'; readonly receivers: number }
  | { readonly is: 'GONE' }
  | { readonly is: 'CONFLICT'; readonly found: string };

/** Ends a run: stores its result or its failure, or leaves the key to the next attempt, and frees the lock. */
export const onceFinish: Script<OnceFinishInput, OnceFinishOutcome> = {
  text: onceFinishText,
  call(input: OnceFinishInput): ScriptCall {
    return {
      script: onceFinishText,
      keys: [input.lock, input.record],
      args: [
        input.holder,
        String(input.attempt),
        String(input.fence),
        input.print,
        input.state,
        input.reason,
        input.payload,
        String(input.keepMs),
        input.channel,
        input.mode,
      ],
    };
  },
  decode(reply: Reply): OnceFinishOutcome {
    const items = openReply(onceFinishText, reply);
    switch (items[0]) {
      case OUTCOMES.STORED:
        requireItems(onceFinishText, items, 2);
        return { is: 'STORED', receivers: integerAt(onceFinishText, items, 1) };
      case OUTCOMES.GONE:
        requireItems(onceFinishText, items, 1);
        return { is: 'GONE' };
      case OUTCOMES.CONFLICT:
        requireItems(onceFinishText, items, 2);
        return { is: 'CONFLICT', found: stringAt(onceFinishText, items, 1) };
      default:
        return refuseReply(onceFinishText, reply);
    }
  },
};

const onceForgetSource =
  '#!lua flags=allow-oom\n' +
  'local FORGOTTEN = 24\n' +
  'local RUNNING = 25\n' +
  'local ABSENT = 10\n' +
  'local CONFLICT = 4\n' +
  'local function found_instead(failure, key)\n' +
  "if not string.match(failure['err'], '^WRONGTYPE') then error(failure) end\n" +
  "local found = redis.pcall('TYPE', key)\n" +
  "if found['err'] then return 'a value of another type' end\n" +
  "return 'a ' .. found['ok']\n" +
  'end\n' +
  'local function read_record(record)\n' +
  "local found = redis.pcall('HMGET', record, 'state', 'owner', 'attempt', 'fence', 'print', 'reason', 'payload')\n" +
  "if found['err'] then return nil, found_instead(found, record) end\n" +
  "local state, attempt, fence = found[1], tonumber(found[3] or ''), tonumber(found[4] or '')\n" +
  "if not state and redis.call('HLEN', record) == 0 then return { attempt = 0 } end\n" +
  "local is_known = state == 'running' or state == 'idle' or state == 'done' or state == 'failed'\n" +
  "if not is_known or not attempt or not fence then return nil, 'a hash that is not a record' end\n" +
  "local kept = { state = state, owner = found[2] or '', attempt = attempt, fence = fence }\n" +
  "kept.print, kept.reason, kept.payload = found[5] or '', found[6] or '', found[7] or ''\n" +
  'return kept\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local record = KEYS[2]\n' +
  'local kept, strange = read_record(record)\n' +
  'if strange then return { CONFLICT, strange } end\n' +
  "if redis.call('PTTL', lock) ~= -2 then return { RUNNING } end\n" +
  'if not kept.state then return { ABSENT } end\n' +
  "redis.call('HDEL', record, 'state', 'owner', 'attempt', 'fence', 'print', 'reason', 'payload')\n" +
  'return { FORGOTTEN }\n';

const onceForgetText: ScriptText = {
  name: 'once.forget',
  sha: 'd1f8cd601eeb3ccbf7ae89fa29f6248db4aad146',
  source: onceForgetSource,
};

export interface OnceForgetInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** hash: state, owner, attempt, fence, print, reason, payload */
  readonly record: string;
}

export type OnceForgetOutcome =
  | { readonly is: 'FORGOTTEN' }
  | { readonly is: 'RUNNING' }
  | { readonly is: 'ABSENT' }
  | { readonly is: 'CONFLICT'; readonly found: string };

/** Removes what is kept of a once key, unless somebody runs it now. */
export const onceForget: Script<OnceForgetInput, OnceForgetOutcome> = {
  text: onceForgetText,
  call(input: OnceForgetInput): ScriptCall {
    return { script: onceForgetText, keys: [input.lock, input.record], args: [] };
  },
  decode(reply: Reply): OnceForgetOutcome {
    const items = openReply(onceForgetText, reply);
    switch (items[0]) {
      case OUTCOMES.FORGOTTEN:
        requireItems(onceForgetText, items, 1);
        return { is: 'FORGOTTEN' };
      case OUTCOMES.RUNNING:
        requireItems(onceForgetText, items, 1);
        return { is: 'RUNNING' };
      case OUTCOMES.ABSENT:
        requireItems(onceForgetText, items, 1);
        return { is: 'ABSENT' };
      case OUTCOMES.CONFLICT:
        requireItems(onceForgetText, items, 2);
        return { is: 'CONFLICT', found: stringAt(onceForgetText, items, 1) };
      default:
        return refuseReply(onceForgetText, reply);
    }
  },
};

const oncePeekSource =
  '#!lua flags=no-writes\n' +
  'local FOUND = 14\n' +
  'local ABSENT = 10\n' +
  'local CONFLICT = 4\n' +
  'local function found_instead(failure, key)\n' +
  "if not string.match(failure['err'], '^WRONGTYPE') then error(failure) end\n" +
  "local found = redis.pcall('TYPE', key)\n" +
  "if found['err'] then return 'a value of another type' end\n" +
  "return 'a ' .. found['ok']\n" +
  'end\n' +
  'local function read_record(record)\n' +
  "local found = redis.pcall('HMGET', record, 'state', 'owner', 'attempt', 'fence', 'print', 'reason', 'payload')\n" +
  "if found['err'] then return nil, found_instead(found, record) end\n" +
  "local state, attempt, fence = found[1], tonumber(found[3] or ''), tonumber(found[4] or '')\n" +
  "if not state and redis.call('HLEN', record) == 0 then return { attempt = 0 } end\n" +
  "local is_known = state == 'running' or state == 'idle' or state == 'done' or state == 'failed'\n" +
  "if not is_known or not attempt or not fence then return nil, 'a hash that is not a record' end\n" +
  "local kept = { state = state, owner = found[2] or '', attempt = attempt, fence = fence }\n" +
  "kept.print, kept.reason, kept.payload = found[5] or '', found[6] or '', found[7] or ''\n" +
  'return kept\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local record = KEYS[2]\n' +
  'local kept, strange = read_record(record)\n' +
  'if strange then return { CONFLICT, strange } end\n' +
  'if not kept.state then return { ABSENT } end\n' +
  "local state, payload = kept.state, ''\n" +
  "if state == 'running' and redis.pcall('HEXISTS', lock, kept.owner) ~= 1 then state = 'idle' end\n" +
  "if state == 'failed' or state == 'idle' then payload = kept.payload end\n" +
  "local ttl_ms = redis.call('PTTL', record)\n" +
  'return { FOUND, state, kept.owner, kept.attempt, kept.fence, kept.reason, payload, ttl_ms }\n';

const oncePeekText: ScriptText = {
  name: 'once.peek',
  sha: '4f7d0a3f1951cd6663bcf11a8a6426a6dad44a53',
  source: oncePeekSource,
};

export interface OncePeekInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** hash: state, owner, attempt, fence, print, reason, payload */
  readonly record: string;
}

export type OncePeekOutcome =
  | {
      readonly is: 'FOUND';
      readonly state: string;
      readonly owner: string;
      readonly attempt: number;
      readonly fence: number;
      readonly reason: string;
      readonly payload: string;
      readonly ttlMs: number;
    }
  | { readonly is: 'ABSENT' }
  | { readonly is: 'CONFLICT'; readonly found: string };

/** Tells how far a once key is, without its result. */
export const oncePeek: Script<OncePeekInput, OncePeekOutcome> = {
  text: oncePeekText,
  call(input: OncePeekInput): ScriptCall {
    return { script: oncePeekText, keys: [input.lock, input.record], args: [] };
  },
  decode(reply: Reply): OncePeekOutcome {
    const items = openReply(oncePeekText, reply);
    switch (items[0]) {
      case OUTCOMES.FOUND:
        requireItems(oncePeekText, items, 8);
        return {
          is: 'FOUND',
          state: stringAt(oncePeekText, items, 1),
          owner: stringAt(oncePeekText, items, 2),
          attempt: integerAt(oncePeekText, items, 3),
          fence: integerAt(oncePeekText, items, 4),
          reason: stringAt(oncePeekText, items, 5),
          payload: stringAt(oncePeekText, items, 6),
          ttlMs: integerAt(oncePeekText, items, 7),
        };
      case OUTCOMES.ABSENT:
        requireItems(oncePeekText, items, 1);
        return { is: 'ABSENT' };
      case OUTCOMES.CONFLICT:
        requireItems(oncePeekText, items, 2);
        return { is: 'CONFLICT', found: stringAt(oncePeekText, items, 1) };
      default:
        return refuseReply(oncePeekText, reply);
    }
  },
};

const onceReleaseSource =
  '#!lua flags=allow-oom\n' +
  'local RELEASED = 5\n' +
  'local GONE = 6\n' +
  'local function notify(mode, channel, message)\n' +
  'local receivers = 0\n' +
  "if mode == 'plain' or mode == 'both' then\n" +
  "local heard = redis.pcall('PUBLISH', channel, message)\n" +
  "if type(heard) == 'number' then receivers = heard end\n" +
  'end\n' +
  "if mode == 'sharded' or mode == 'both' then\n" +
  "local heard = redis.pcall('SPUBLISH', channel, message)\n" +
  "if type(heard) == 'number' and heard > receivers then receivers = heard end\n" +
  'end\n' +
  'return receivers\n' +
  'end\n' +
  'local lock = KEYS[1]\n' +
  'local record = KEYS[2]\n' +
  'local holder = ARGV[1]\n' +
  'local has_run = tonumber(ARGV[2])\n' +
  'local channel = ARGV[3]\n' +
  'local mode = ARGV[4]\n' +
  "if redis.call('HDEL', lock, holder) == 0 then return { GONE } end\n" +
  "local kept = redis.pcall('HMGET', record, 'state', 'owner', 'attempt')\n" +
  "if has_run == 0 and kept[1] == 'running' and kept[2] == holder then\n" +
  'local before = tonumber(kept[3]) - 1\n' +
  'if before > 0 then\n' +
  "redis.call('HSET', record, 'state', 'idle', 'owner', '', 'attempt', before)\n" +
  'else\n' +
  "redis.call('HDEL', record, 'state', 'owner', 'attempt', 'fence', 'print', 'reason', 'payload')\n" +
  'end\n' +
  'end\n' +
  "local receivers = notify(mode, channel, '0')\n" +
  'return { RELEASED, receivers }\n';

const onceReleaseText: ScriptText = {
  name: 'once.release',
  sha: '6ce5cae213a8da561923ff2b777197399c8bc8e1',
  source: onceReleaseSource,
};

export interface OnceReleaseInput {
  /** hash: one field, holder -> hold count */
  readonly lock: string;
  /** hash: state, owner, attempt, fence, print, reason, payload; or the lock's key again: the record is left alone */
  readonly record: string;
  /** <session>:<hold number> */
  readonly holder: string;
  /** 1 if the body may have begun; 0: nobody was told of the start */
  readonly hasRun: number;
  /** where those listen who wait for the end */
  readonly channel: string;
  /** how to tell them: nobody, plain, sharded or both */
  readonly mode: string;
}

export type OnceReleaseOutcome =
  | { readonly is: 'RELEASED'; readonly receivers: number }
  | { readonly is: 'GONE' };

/** Frees the lock of a run that does not say how it ended. A run that never began is not counted. */
export const onceRelease: Script<OnceReleaseInput, OnceReleaseOutcome> = {
  text: onceReleaseText,
  call(input: OnceReleaseInput): ScriptCall {
    return {
      script: onceReleaseText,
      keys: [input.lock, input.record],
      args: [input.holder, String(input.hasRun), input.channel, input.mode],
    };
  },
  decode(reply: Reply): OnceReleaseOutcome {
    const items = openReply(onceReleaseText, reply);
    switch (items[0]) {
      case OUTCOMES.RELEASED:
        requireItems(onceReleaseText, items, 2);
        return { is: 'RELEASED', receivers: integerAt(onceReleaseText, items, 1) };
      case OUTCOMES.GONE:
        requireItems(onceReleaseText, items, 1);
        return { is: 'GONE' };
      default:
        return refuseReply(onceReleaseText, reply);
    }
  },
};

const sessionForgetSource =
  '#!lua flags=allow-oom\n' +
  'local GONE = 6\n' +
  'local record = KEYS[1]\n' +
  "redis.call('DEL', record)\n" +
  'return { GONE }\n';

const sessionForgetText: ScriptText = {
  name: 'session.forget',
  sha: '4a8841d0dbf5ec8c9059e3aa0047d1097f9e2776',
  source: sessionForgetSource,
};

export interface SessionForgetInput {
  /** hash: application, host, pid */
  readonly record: string;
}

export type SessionForgetOutcome = { readonly is: 'GONE' };

/** Removes the record of a session that has ended. */
export const sessionForget: Script<SessionForgetInput, SessionForgetOutcome> = {
  text: sessionForgetText,
  call(input: SessionForgetInput): ScriptCall {
    return { script: sessionForgetText, keys: [input.record], args: [] };
  },
  decode(reply: Reply): SessionForgetOutcome {
    const items = openReply(sessionForgetText, reply);
    switch (items[0]) {
      case OUTCOMES.GONE:
        requireItems(sessionForgetText, items, 1);
        return { is: 'GONE' };
      default:
        return refuseReply(sessionForgetText, reply);
    }
  },
};

const sessionRecordSource =
  '#!lua\n' +
  'local RENEWED = 7\n' +
  'local function require_expiry(key, ttl_ms)\n' +
  "if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then\n" +
  "error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })\n" +
  'end\n' +
  'end\n' +
  'local record = KEYS[1]\n' +
  'local application = ARGV[1]\n' +
  'local host = ARGV[2]\n' +
  'local pid = ARGV[3]\n' +
  'local ttl_ms = ARGV[4]\n' +
  'require_expiry(record, ttl_ms)\n' +
  "redis.call('HSET', record, 'application', application, 'host', host, 'pid', pid)\n" +
  "redis.call('PEXPIRE', record, ttl_ms)\n" +
  'return { RENEWED }\n';

const sessionRecordText: ScriptText = {
  name: 'session.record',
  sha: '07181f24121cd060f69b11ca4ba9c6b249ac2fed',
  source: sessionRecordSource,
};

export interface SessionRecordInput {
  /** hash: application, host, pid */
  readonly record: string;
  /** what the program calls itself */
  readonly application: string;
  /** the name of its machine */
  readonly host: string;
  /** the number of its process there */
  readonly pid: number;
  /** ms: how long the record outlives the last word of its session */
  readonly ttlMs: number;
}

export type SessionRecordOutcome = { readonly is: 'RENEWED' };

/** Says who a session is, for those who look at the locks that it holds. */
export const sessionRecord: Script<SessionRecordInput, SessionRecordOutcome> = {
  text: sessionRecordText,
  call(input: SessionRecordInput): ScriptCall {
    return {
      script: sessionRecordText,
      keys: [input.record],
      args: [input.application, input.host, String(input.pid), String(input.ttlMs)],
    };
  },
  decode(reply: Reply): SessionRecordOutcome {
    const items = openReply(sessionRecordText, reply);
    switch (items[0]) {
      case OUTCOMES.RENEWED:
        requireItems(sessionRecordText, items, 1);
        return { is: 'RENEWED' };
      default:
        return refuseReply(sessionRecordText, reply);
    }
  },
};
