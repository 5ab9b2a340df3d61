/**
 * The least that a user of holdfast needs, in Redis's own words. docs/operate/acl.md prints these lists, and the
 * contract runs as a user that has nothing else.
 */

/** For locks and mutexes whose keys begin with `locks:`. */
export const LEAST = `~locks:* ~redisson_lock_token:{locks:* ~holdfast_line:{locks:* ~holdfast_session:* ~holdfast_revoked:*
&redisson_lock__channel:{locks:* &holdfast_mutex__channel:{locks:* &holdfast_session:*
+evalsha +eval +time +exists +get +set +del +pexpire +pttl
+hset +hdel +hlen +hgetall +hexists +hmget
+publish +subscribe +unsubscribe +pubsub|numsub`;

/** For `once`, besides. */
export const ONCE = `~holdfast_once_lock:{locks:* ~holdfast_once:{locks:* ~redisson_lock_token:holdfast_once_lock:{locks:*
&redisson_lock__channel:holdfast_once_lock:{locks:*`;

/** For leaders and jobs, besides. */
export const JOBS = `~holdfast_leader:{locks:* ~holdfast_job:{locks:* ~holdfast_job_lock:{locks:*
~redisson_lock_token:holdfast_leader:{locks:* ~redisson_lock_token:holdfast_job_lock:{locks:*
~holdfast_line::holdfast_leader:{locks:*
&redisson_lock__channel:holdfast_leader:{locks:* &redisson_lock__channel:holdfast_job_lock:{locks:*`;

/** For `inspect`, `list`, `forceRelease` and `check`. */
export const LOOKING = '+type +scan +strlen +hkeys +info';

/** For names that bring a brace of their own, `locks:{order}:1`: no brace is put around them. */
export const BRACES = `~redisson_lock_token:locks:* ~holdfast_line::locks:*
&redisson_lock__channel:locks:* &holdfast_mutex__channel:locks:*`;

/** For a cluster: where grants are heard, where the slots are, the way through one that is moving, the channels of the shards. */
export const CLUSTER = `&holdfast_line:{locks:*
+cluster|slots +asking +spublish +ssubscribe +sunsubscribe +pubsub|shardnumsub`;

/** For a primary that sentinels name, and to count replicas. */
export const REPLICATION = '+role +wait +waitaof';

/** For the user of the sentinels: who the primary is, and when it is another one. */
export const SENTINELS = `+sentinel|master +sentinel|get-master-addr-by-name
+subscribe &+switch-master
+client|setname`;

/** What a sentinel of node-redis asks and listens to by itself. */
export const NODE_REDIS_SENTINELS = `+sentinel|sentinels +sentinel|replicas +psubscribe
&switch-master &[-+]sdown &+slave &+sentinel &[-+]odown &+slave-reconf-done`;

/** What the connections themselves are glad of: their name, another database, the ready check of ioredis. */
export const CONNECTING = '+client|setname +select +info';

/** The words of `ACL SETUSER` and of the setting `user`. */
export function aclWords(...lists: readonly string[]): string[] {
  return lists.flatMap((list) => list.split(/\s+/));
}

/** For the monitor that looks: it can only read. */
export const MONITOR = `~locks:* ~redisson_lock_token:{locks:* ~holdfast_line:{locks:* ~holdfast_session:* %R~holdfast_audit
+evalsha +eval +time +info +scan +type +pttl +get +strlen
+hlen +hkeys +hget +hmget +hgetall
+xrange +xrevrange +pubsub|numsub`;

/** For the monitor's page Jobs, beside `MONITOR`. */
export const MONITOR_JOBS = '~holdfast_job:{locks:* ~holdfast_job_lock:{locks:* +hexists';

/** For what is done from the monitor's page, beside what `forceRelease` needs: the audit trail, which the user that looks reads. */
export const AUDIT = '~holdfast_audit +xadd';

/** For the state of the alerts of the fleet `shop`; half of it is for the lock of the leader. */
export const ALERTS = `~holdfast_monitor:{shop}:* ~redisson_lock_token:holdfast_monitor:{shop}:* ~holdfast_line::holdfast_monitor:{shop}:*
&redisson_lock__channel:holdfast_monitor:{shop}:* ~holdfast_session:* &holdfast_session:*
+evalsha +eval +time +get +set +del +pexpire +pttl
+hget +hset +hdel +hlen +hexists +hgetall +hmget +lindex +lpop +lrange +lrem +rpush +xadd +xrevrange
+publish +subscribe +unsubscribe +pubsub|numsub`;
