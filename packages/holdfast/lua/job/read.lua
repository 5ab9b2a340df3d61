#!lua flags=no-writes
--- Tells what is known of a job: its last run and its next slot.
-- @key job hash: the marker, see include/job.lua
-- @key lock hash: one field, holder -> hold count
-- @outcome JOB now_ms:integer slot:string state:string attempt:string owner:string fence:string host:string began:string ended:string text:string spec:string next:string
-- @outcome ABSENT now_ms:integer
-- @repeat harmless: it reads
-- @include now
local job = KEYS[1]
local lock = KEYS[2]

local now_ms = server_now()
local names = { 'slot', 'state', 'attempt', 'owner', 'fence', 'host', 'began', 'ended', 'error', 'spec', 'next' }
local found = redis.pcall('HMGET', job, unpack(names))
-- What is no marker of ours, by its type or its slot, is no job.
if found['err'] or not found[1] or #found[1] > 15 or not string.match(found[1], '^%d+$') then return { ABSENT, now_ms } end
local w = {}
for i = 1, #names do w[i] = string.sub(found[i] or '', 1, 2048) end
-- The run has lost its lock and nobody has asked since: the next who asks will write the same.
if w[2] == 'running' and redis.pcall('HEXISTS', lock, w[4]) ~= 1 then w[2] = 'dead' end
return { JOB, now_ms, w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11] }
