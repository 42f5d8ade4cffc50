import type { PgVersion } from "./port.ts"

/**
 * Settings of sessions of the platform's own, sent when they connect. They outrank what a tenant sets for a role or for
 * the database, which could end such a session as it begins, or change what its statements do.
 */
export const pinnedSettings = (version: PgVersion) => ({
  local_preload_libraries: "",
  role: "none",
  default_transaction_read_only: "off",
  default_transaction_deferrable: "off",
  lock_timeout: "0",
  idle_session_timeout: "0",
  idle_in_transaction_session_timeout: "600000",
  ...(version >= 17 ? { transaction_timeout: "0" } : {}),
  exit_on_error: "off",
  row_security: "on",
  client_min_messages: "notice",
  password_encryption: "scram-sha-256",
})

/** As the `options` of a startup packet. */
export const asOptions = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ")
