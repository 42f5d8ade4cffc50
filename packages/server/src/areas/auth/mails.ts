/** Mails that prove addresses. */
import { checkMailLimits } from "../../core/credentials/mail-limits.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Job, Outcome, QueueDefinition } from "../../kernel/jobs/jobs.ts"
import { provided } from "../../kernel/offer.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import type { Caller, Context } from "./context.ts"
import { endUserHash, findMail, type MailRow, mailStore } from "./mail-store.ts"
import { isRedirectAllowed, MAIL_LIFETIME_MS, type MailKind } from "./rules.ts"
import { type UserRow, userStore } from "./store.ts"
import { composeMail } from "./texts.ts"

const QUEUE = "auth.mail"
const RETRIES_MS = [30_000, 2 * 60_000, 10 * 60_000]

interface Payload {
  readonly mailId: string
}

export interface MailRequest {
  readonly kind: MailKind
  readonly email: string
  readonly redirectTo: string | undefined
  /** Of a mail to another address than the user's own. */
  readonly userId?: string
}

/** Throws `redirect_not_allowed`. */
export const checkRedirect = async (
  { projectSettings }: Context,
  { tenant }: Pick<Caller, "tenant">,
  target: string | undefined,
): Promise<void> => {
  if (target === undefined) return
  const { redirect_urls } = await projectSettings.of(tenant.projectId)
  if (!isRedirectAllowed(target, redirect_urls)) throw fault("redirect_not_allowed")
}

/**
 * Records a mail that is wanted and the job that sends it, in the transaction. Who gets which mail is found out by the job:
 * a request takes as long for an address that has no user. Throws `auth_rate_limited`.
 */
export const requestMail = async (
  { jobs }: Context,
  tx: Db,
  { tenant, ip, now }: Pick<Caller, "tenant" | "ip" | "now">,
  { kind, email, redirectTo, userId }: MailRequest,
): Promise<void> => {
  const row: MailRow = {
    id: newId(now.getTime()),
    organization_id: tenant.organizationId,
    project_id: tenant.projectId,
    kind,
    account: endUserHash(tenant.projectId, email),
    source: addressBucket(ip),
    email,
    user_id: userId ?? null,
    token_hash: null,
    code_hash: null,
    tries: 0,
    redirect_to: redirectTo ?? null,
    created_at: now,
    expires_at: new Date(now.getTime() + MAIL_LIFETIME_MS[kind]),
  }
  const store = mailStore(tx, tenant.projectId)
  await store.lock(row)
  await checkMailLimits(store.timeOf(kind), row)
  await store.insert(row)
  await jobs.enqueue(tx, {
    queue: QUEUE,
    tenantId: tenant.organizationId,
    payload: { mailId: row.id } satisfies Payload,
  })
}

/** Whom a mail is for, and as what it is written; undefined: there is nobody to write to. */
const addressee = async (
  tx: Db,
  { project_id, kind, email, user_id }: MailRow,
  now: Date,
): Promise<{ user: UserRow; as: MailKind | "known" } | undefined> => {
  const users = userStore(tx, project_id)
  const byEmail = await users.findByEmail(email)
  if (kind === "email_change") {
    const user = user_id === null || byEmail ? undefined : await users.find(user_id)
    return user && { user, as: kind }
  }
  if (!byEmail || (byEmail.banned_until && byEmail.banned_until > now)) return undefined
  if (kind === "signup" && byEmail.email_confirmed_at) return { user: byEmail, as: "known" }
  return { user: byEmail, as: kind as MailKind }
}

export const mailQueue = (context: Context): QueueDefinition<Payload> => {
  const { database, clock, mailedTokens, projectMail, projectSettings } = context

  const send = async (tx: Db, mail: MailRow): Promise<void> => {
    const to = await addressee(tx, mail, new Date(clock.now()))
    if (!to) return
    const secrets = mailedTokens.make(mail.id)
    if (to.as !== "known")
      await mailStore(tx, mail.project_id).update(mail.id, {
        user_id: to.user.id,
        token_hash: secrets.tokenHash,
        code_hash: secrets.codeHash,
      })
    const settings = await projectSettings.of(mail.project_id)
    const email = await provided(projectMail)
    await email.send(tx, {
      id: mail.id,
      organizationId: mail.organization_id,
      projectId: mail.project_id,
      to: mail.email,
      ...composeMail({ as: to.as, mail, secrets, settings }),
    })
  }

  const run = async ({ payload }: Job<Payload>): Promise<Outcome> => {
    try {
      await database.transaction(async tx => {
        const mail = await findMail(tx, payload.mailId)
        // Sent already, or too late.
        if (!mail || mail.token_hash || mail.expires_at.getTime() <= clock.now()) return
        await send(tx, mail)
      })
      return { kind: "done" }
    } catch (error) {
      // The project's quota, or its template: what repeating does not mend.
      if (isFault(error) && error.status < 500) return { kind: "dead", reason: error.message }
      throw error
    }
  }

  return { name: QUEUE, concurrency: 4, retries: RETRIES_MS, run }
}
