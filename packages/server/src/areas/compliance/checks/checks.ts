import { accessChecks } from "./access.ts"
import { type AuditCheckNeeds, auditChecks } from "./audit.ts"
import { runCheck, type StatusPayload, scoreOf, verdictOf } from "./check.ts"
import { type EncryptionCheckNeeds, encryptionChecks } from "./encryption.ts"
import { privacyChecks } from "./privacy.ts"

export interface Checks {
  run(organizationId: string, now: Date): Promise<StatusPayload>
}

export const createChecks = (needs: AuditCheckNeeds & EncryptionCheckNeeds): Checks => {
  const all = [
    ...encryptionChecks(needs),
    ...auditChecks(needs),
    ...accessChecks(needs),
    ...privacyChecks(needs),
  ]
  return {
    async run(organizationId, now) {
      // One after the other: together they would take several connections of the pool at once.
      const checks = []
      for (const check of all) checks.push(await runCheck(check, organizationId, now))
      return { score: scoreOf(checks), status: verdictOf(checks), checked_at: now.toISOString(), checks }
    },
  }
}
