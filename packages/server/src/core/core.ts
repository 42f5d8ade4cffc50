/** The core, put together: what the kernel needs from it, and the operations it serves itself. */
import { fileURLToPath } from "node:url"
import type { Clock } from "../kernel/clock.ts"
import type { Changes } from "../kernel/db/changes.ts"
import type { Database } from "../kernel/db/database.ts"
import type { MigrationSource } from "../kernel/db/migrate.ts"
import type { InProcessCaller } from "../kernel/edges/in-process.ts"
import { every, stopAll } from "../kernel/every.ts"
import type { BoundOperation } from "../kernel/implement.ts"
import type { Jobs } from "../kernel/jobs/jobs.ts"
import type { Logger } from "../kernel/log.ts"
import type { Offer } from "../kernel/offer.ts"
import type { Limits } from "../kernel/stages/limit.ts"
import type { Mails } from "../ports/mail/port.ts"
import type { SecretsPort } from "../ports/secrets/port.ts"
import { accountHandlers } from "./accounts/handlers.ts"
import type { Passwords } from "./accounts/passwords.ts"
import { resetMailQueue } from "./accounts/reset-mail.ts"
import { createSessions } from "./accounts/sessions.ts"
import { createSignedIn } from "./accounts/signed-in.ts"
import { signupMailQueue } from "./accounts/signup-mail.ts"
import { approvalsHandlers } from "./approvals/handlers.ts"
import { createApprovals } from "./approvals/service.ts"
import { createAudit } from "./audit/audit.ts"
import { createRecoveryCodes } from "./credentials/recovery-codes.ts"
import { type EndUserTokens, findEndUser } from "./end-users.ts"
import { type AreaReport, identityHandlers } from "./identity/handlers.ts"
import { expiringKeys } from "./keys/expiring.ts"
import { keysHandlers } from "./keys/handlers.ts"
import { createApiKeyCache } from "./keys/key-cache.ts"
import { createSignatures } from "./keys/signatures.ts"
import { createMeters } from "./meters/meters.ts"
import { createProjectDirectory } from "./organizations/directory.ts"
import { organizationsHandlers } from "./organizations/organizations-handlers.ts"
import { projectsHandlers } from "./organizations/projects-handlers.ts"
import { createPlatformEvents } from "./platform-events/platform-events.ts"
import { createAtRest } from "./secrets/at-rest.ts"
import { createDeriveSecret } from "./secrets/derive.ts"
import { createSecretBox } from "./secrets/secret-box.ts"
import { createTenantKeys } from "./secrets/tenant-keys.ts"

export const coreMigrations: MigrationSource = {
  schema: "core",
  folder: fileURLToPath(new URL("migrations", import.meta.url)),
}

export const secretsMigrations: MigrationSource = {
  schema: "encryption",
  folder: fileURLToPath(new URL("secrets/migrations", import.meta.url)),
}

const FLUSH_EVERY_MS = 1_000
const FLUSH_USE_EVERY_MS = 60_000
const SWEEP_EVERY_MS = 10_000
const PRUNE_EVERY_MS = 3_600_000

export interface CoreNeeds {
  readonly config: {
    readonly baseUrl: string
    readonly signup: "open" | "closed"
    readonly encryptAtRest: "on" | "off"
  }
  readonly masterKey: Buffer
  readonly secrets: SecretsPort
  readonly clock: Clock
  readonly log: Logger
  readonly database: Database
  /** For the keys of tenants alone. */
  readonly keysDatabase: Database
  readonly changes: Changes
  readonly limits: Limits
  readonly mails: Mails
  readonly passwords: Passwords
  /** Given late: these are made from what the core gives. */
  readonly inProcess: () => InProcessCaller
  readonly jobs: () => Jobs
  readonly areaStates: () => Promise<readonly AreaReport[]>
  readonly endUsers: Offer<EndUserTokens>
}

export const createCore = (needs: CoreNeeds) => {
  const { config, clock, log, database, changes, limits, inProcess } = needs
  const { db } = database
  const { masterKey, secrets, keysDatabase, passwords } = needs
  const { provider: mail, from: mailFrom } = needs.mails
  const tenantKeys = createTenantKeys({ database: keysDatabase, secrets, changes, clock, log })
  const box = createSecretBox({ tenantKeys, masterKey })
  const atRest = createAtRest(box, config.encryptAtRest === "on")
  const accountMails = { db, clock, mail, mailFrom, baseUrl: config.baseUrl }
  const audit = createAudit(database)
  const meters = createMeters(db)
  const platformEvents = createPlatformEvents(clock.now)
  const news = { changes, platformEvents }
  const keyCache = createApiKeyCache(db, changes)
  const sessions = createSessions(db)
  const projects = createProjectDirectory(db, changes)
  const signatures = createSignatures({ keyCache, projects, masterKey })
  const approvals = createApprovals({ database, box, audit, keyCache, projects })

  const operations: BoundOperation[] = [
    ...identityHandlers({ limits, areaStates: needs.areaStates }),
    ...accountHandlers({
      passwords,
      baseUrl: config.baseUrl,
      signup: config.signup,
      mailJobs: mail.capabilities.by === "mailbox" ? undefined : needs.jobs,
      box,
      tenantKeys,
      recoveryCodes: createRecoveryCodes(createDeriveSecret(masterKey)("svc:recovery-codes", "accounts")),
    }),
    ...organizationsHandlers({ ...news, tenantKeys }),
    ...projectsHandlers(news),
    ...keysHandlers(news),
    ...approvalsHandlers({ approvals, inProcess }),
  ]

  const flushes = [
    { everyMs: FLUSH_EVERY_MS, run: meters.flush, failure: "writing meters failed; will retry" },
    { everyMs: FLUSH_EVERY_MS, run: audit.flush, failure: "writing audit counts failed; will retry" },
    {
      ...{ everyMs: FLUSH_USE_EVERY_MS, run: keyCache.flushUse },
      failure: "writing last-used times of API keys failed",
    },
  ]
  const works = [
    ...flushes,
    {
      ...{ everyMs: PRUNE_EVERY_MS, run: () => sessions.prune(clock.now()) },
      failure: "deleting expired sessions failed; will retry",
    },
    {
      ...{ everyMs: PRUNE_EVERY_MS, run: tenantKeys.renewWraps },
      failure: "rewrapping tenant keys failed; will retry",
    },
    {
      ...{ everyMs: SWEEP_EVERY_MS, run: () => approvals.sweep(inProcess(), clock.now()) },
      failure: "expiring approvals failed; will retry",
    },
  ].map(({ everyMs, run, failure }) => every(clock, everyMs, run, { log, failure }))

  return {
    operations,
    box,
    atRest,
    tenantKeys,
    passwords,
    credentials: { key: keyCache.find, session: sessions.find, endUser: findEndUser(needs.endUsers) },
    keys: { byId: keyCache.byId, find: keyCache.find },
    signedIn: createSignedIn(sessions),
    signatures,
    projects,
    approvals,
    audit,
    meters,
    platformEvents,
    /** Work that outlives requests. */
    defineQueues(jobs: Jobs): void {
      jobs.define(signupMailQueue(accountMails))
      jobs.define(resetMailQueue(accountMails))
    },
    /** Work that recurs. */
    schedules: [expiringKeys({ database, platformEvents, now: clock.now })],
    // Credit and quota come with the billing area; until then nothing is refused for them.
    admission: { admit: () => undefined },
    async [Symbol.asyncDispose]() {
      await stopAll(works)
      for (const { run, failure } of flushes)
        await run().catch(error => log.error({ err: error, failure }, "the last write before the end failed"))
    },
  }
}

export type Core = ReturnType<typeof createCore>
