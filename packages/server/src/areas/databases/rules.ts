import { ISOLATION_TIERS, PG_VERSION_DEFAULT, PG_VERSIONS } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import type {
  EngineCapabilities,
  PgVersion,
  RecoveryPoint,
  RolePasswords,
  Tier,
} from "../../ports/engine/port.ts"

export const TIER_DEFAULT = "isolated"

/** The tier asked for, if this installation has it. */
export const tierOf = (asked: string = TIER_DEFAULT, { tiers }: Pick<EngineCapabilities, "tiers">): Tier => {
  const tier = ISOLATION_TIERS.find(known => known === asked)
  if (!tier) throw fault("invalid_isolation_tier")
  if (!tiers.includes(tier)) throw fault("isolation_tier_unavailable", { isolation: tier })
  return tier
}

export const versionOf = (
  asked: number = PG_VERSION_DEFAULT,
  { versions }: Pick<EngineCapabilities, "versions">,
): PgVersion => {
  const version = PG_VERSIONS.find(known => known === asked)
  if (!version) throw fault("unsupported_pg_version")
  if (!versions.includes(version))
    throw fault("not_implemented", { reason: `PostgreSQL ${version} is not installed here` })
  return version
}

/** A name to keep a branch under that its owner did not choose: `main_old_20261121T093000123Z`. */
export const keptName = (name: string, now: Date): string => {
  const stamp = now.toISOString().replaceAll(/[-:.]/g, "")
  return `${name.slice(0, 38)}_old_${stamp}`
}

/** The point that a request names, by time or by position; `head` when it names none. */
export const pointOf = ({
  time,
  lsn,
}: {
  time?: string | undefined
  lsn?: string | undefined
}): RecoveryPoint => {
  if (time !== undefined && lsn !== undefined)
    throw fault("recovery_point_invalid", { reason: "name a time or a log position, not both" })
  if (lsn !== undefined) return { kind: "lsn", lsn: lsn.toUpperCase() }
  return time === undefined ? { kind: "head" } : { kind: "time", time: new Date(time) }
}

/** A copy is handed to other people than its source, so its roles' passwords stay only where that is asked for. */
export const rolesOf = ({ keep_passwords }: { keep_passwords?: boolean | undefined }): RolePasswords => ({
  others: keep_passwords ? "kept" : "cleared",
})
