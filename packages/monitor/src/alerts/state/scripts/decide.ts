/**
 * One decision of the leader, whole or not at all: the alerts that changed, and one delivery for each receiver that is
 * told. `revision` is the one that the decision was made on; `token` tells a decision that is sent a second time,
 * because its answer was lost, from one that was overtaken.
 */
import { FENCED, HISTORY_MAX, StateScript } from './script.ts';

/**
 * Keys: meta, alerts, delivery, tries, silences, outage, history, then the outboxes. Arguments: fence, revision, token,
 * the decision as JSON. It has lists of lists, each of which may be empty: `alerts` [fingerprint, alert or ''],
 * `push` [number of the outbox, id, delivery], `drop` [number of the outbox, id], `history` [kind, entry],
 * `mutes` [id] and `outage` [fingerprint], both to be removed.
 */
export const DECIDE: StateScript = new StateScript(`${FENCED}
local alerts, delivery, tries, silences, outage, history = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local revision, token = tonumber(ARGV[2]), ARGV[3]
local stored = tonumber(redis.call('HGET', meta, 'revision') or '0')
local function answer(now_at)
  return { 'OK', now_ms, now_at, redis.call('HGETALL', silences), redis.call('HGETALL', outage) }
end
if redis.call('HGET', meta, 'token') == token then
  return answer(stored)
end
if stored ~= revision then
  return { 'CONFLICT', now_ms, stored }
end
if ARGV[4] == '' then
  return answer(stored)
end
local decision = cjson.decode(ARGV[4])
for _, change in ipairs(decision.alerts) do
  if change[2] == '' then
    redis.call('HDEL', alerts, change[1])
  else
    redis.call('HSET', alerts, change[1], change[2])
  end
end
for _, drop in ipairs(decision.drop) do
  redis.call('LREM', KEYS[7 + drop[1]], 1, drop[2])
  redis.call('HDEL', delivery, drop[2])
  redis.call('HDEL', tries, drop[2])
end
for _, push in ipairs(decision.push) do
  redis.call('HSET', delivery, push[2], push[3])
  redis.call('HSET', tries, push[2], '0 0 0 ')
  redis.call('RPUSH', KEYS[7 + push[1]], push[2])
end
for _, entry in ipairs(decision.history) do
  redis.call('XADD', history, 'MAXLEN', '~', '${HISTORY_MAX}', '*', 'kind', entry[1], 'entry', entry[2])
end
for _, id in ipairs(decision.mutes) do
  redis.call('HDEL', silences, id)
end
for _, fingerprint in ipairs(decision.outage) do
  redis.call('HDEL', outage, fingerprint)
end
redis.call('HSET', meta, 'revision', revision + 1, 'token', token, 'incidents', decision.incidents)
return answer(revision + 1)
`);
