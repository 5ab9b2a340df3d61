-- Stops a script before it writes a key whose expiry is set by a second command, when the user may not send that
-- command: the key would stay for ever, and nothing says that the user may delete it again.
local function require_expiry(key, ttl_ms)
  if not redis.acl_check_cmd('PEXPIRE', key, ttl_ms) then
    error({ err = 'NOPERM The user may not run PEXPIRE on this key, so it was not written: it would never expire' })
  end
end
