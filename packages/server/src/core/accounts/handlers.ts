import { areas, type Output } from "@svc/contract"
import type { AccountCall, Call } from "../../kernel/call.ts"
import { type Db, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement, outsideTransaction } from "../../kernel/implement.ts"
import { getOpenInvitation } from "../organizations/invitation-handlers.ts"
import { foundOrganization } from "../organizations/service.ts"
import { createSessionCookie } from "./cookie.ts"
import type { Passwords } from "./passwords.ts"
import { clearFailures, proveIdentity } from "./proof.ts"
import { checkPassword, isLive, SESSION_LIFETIME_MS } from "./rules.ts"
import { openSession } from "./service.ts"
import { accountStore, type SessionRow, type UserRow } from "./store.ts"

type Specs = typeof areas.account.specs
type UserPayload = Output<Specs["get"]>
type SignedInPayload = Output<Specs["login"]>
type SessionPayload = Output<Specs["listSessions"]>["sessions"][number]

const NAME_LENGTH_MAX = 64

const toUser = (row: UserRow): UserPayload => ({
  id: row.id,
  email: row.email,
  name: row.name,
  created_at: row.created_at.toISOString(),
})

const toSession = (row: SessionRow, currentId: string | undefined): SessionPayload => ({
  id: row.id,
  current: row.id === currentId,
  ip: row.ip,
  user_agent: row.user_agent,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})

const userTarget = ({ id, email }: UserRow) => ({ type: "user", id, name: email })

/** Only the user's own rows are ever touched: the id comes from the session, never from the request. */
const getUser = async ({ db, principal }: Call): Promise<UserRow> => {
  const user = await accountStore(db).findUser(principal.id)
  // Deleted since the session was looked up.
  if (!user) throw fault("session_expired")
  return user
}

const currentSessionId = ({ principal }: Call): string => {
  if (!principal.session) throw fault("session_required")
  return principal.session.id
}

/** The password was changed while this attempt was on its way: what it proved is no longer the password. */
const settleProof = async (tx: Db, user: UserRow, { ip, now }: Pick<AccountCall, "ip" | "now">) => {
  if (!(await accountStore(tx).holdsPassword(user))) throw fault("invalid_credentials")
  await clearFailures(tx, user, ip, now)
}

const attemptOf = (user: UserRow, { db, ip, now }: Call) => ({
  db,
  user,
  email: user.email,
  ip,
  isSignedIn: true,
  now,
})

interface Needs {
  readonly passwords: Passwords
  readonly baseUrl: string
  readonly signup: "open" | "closed"
}

// Hashing takes a while and may have to queue. Whatever hashes runs outside the pipeline's transaction, so that a wave of
// sign-ins cannot hold every database connection, and so that counted failures outlive the refusal.
export const accountHandlers = implement(areas.account, ({ passwords, baseUrl, signup }: Needs) => {
  const cookie = createSessionCookie(baseUrl)

  const signIn = async (call: AccountCall, tx: Db, user: UserRow): Promise<SignedInPayload> => {
    const { ip, userAgent, now } = call
    const { row, token } = await openSession(tx, { userId: user.id, ip, userAgent, now })
    call.setHeader("set-cookie", cookie.carrying(token, SESSION_LIFETIME_MS / 1000))
    return { user: toUser(user), session: { id: row.id, expires_at: row.expires_at.toISOString() } }
  }

  return {
    signup: outsideTransaction(async ({ email, password, name, ...input }, call) => {
      const { db, now } = call
      if (input.invitation_token !== undefined) {
        await getOpenInvitation(db, { token: input.invitation_token, email, now })
      } else if (signup === "closed") throw fault("signup_disabled")
      checkPassword(password, email)
      const user: UserRow = {
        id: newId(now.getTime()),
        email,
        name: name ?? email.split("@", 1)[0]?.slice(0, NAME_LENGTH_MAX) ?? email,
        // Before the address is looked at, so that a taken one costs the same.
        password_hash: await passwords.hash(password),
        created_at: now,
      }
      const organizationName =
        input.organization_name ?? `${user.name}'s organization`.slice(0, NAME_LENGTH_MAX)
      try {
        const signedIn = await db.transaction().execute(async tx => {
          await accountStore(tx).insertUser(user)
          await clearFailures(tx, user, call.ip, now)
          await foundOrganization(tx, { name: organizationName, userId: user.id, plan: "free", now })
          return await signIn(call, tx, user)
        })
        call.describe({ tenantId: user.id, targets: [userTarget(user)] })
        return signedIn
      } catch (error) {
        if (isUniqueViolation(error, "users_email"))
          throw fault("conflict", { reason: "this e-mail address has an account" })
        throw error
      }
    }),

    login: outsideTransaction(async ({ email, password }, call) => {
      const { db, ip, now } = call
      const user = await accountStore(db).findUserByEmail(email)
      if (user) call.describe({ action: "auth_login_failed", tenantId: user.id, targets: [userTarget(user)] })
      const proven = await proveIdentity({ db, passwords, email, user, password, ip, now })
      const signedIn = await db.transaction().execute(async tx => {
        await settleProof(tx, proven, call)
        return await signIn(call, tx, proven)
      })
      call.describe({ action: "auth_login" })
      return signedIn
    }),

    reauthenticate: outsideTransaction(async ({ password }, call) => {
      const { db, now } = call
      const user = await getUser(call)
      call.describe({ action: "auth_login_failed", targets: [userTarget(user)] })
      await proveIdentity({ ...attemptOf(user, call), passwords, password })
      await db.transaction().execute(async tx => {
        await settleProof(tx, user, call)
        await accountStore(tx).updateSession(currentSessionId(call), { authenticated_at: now })
      })
      call.describe({ action: "auth_login" })
      return { authenticated_at: now.toISOString() }
    }),

    async logout(_input, call): Promise<undefined> {
      await accountStore(call.db).deleteSession(call.principal.id, currentSessionId(call))
      call.setHeader("set-cookie", cookie.cleared)
    },

    async get(_input, call) {
      return toUser(await getUser(call))
    },

    update: outsideTransaction(async ({ name, password, current_password }, call) => {
      const { db, now } = call
      const user = await getUser(call)
      const change: Partial<UserRow> = name === undefined ? {} : { name }
      if (password !== undefined) {
        if (current_password === undefined) throw fault("missing_parameter", { field: "current_password" })
        checkPassword(password, user.email)
        await proveIdentity({ ...attemptOf(user, call), passwords, password: current_password })
        change.password_hash = await passwords.hash(password)
      }
      await db.transaction().execute(async tx => {
        if (change.password_hash !== undefined) {
          await settleProof(tx, user, call)
          await accountStore(tx).deleteOtherSessions(user.id, currentSessionId(call))
          await accountStore(tx).updateSession(currentSessionId(call), { authenticated_at: now })
        }
        if (Object.keys(change).length > 0) await accountStore(tx).updateUser(user.id, change)
      })
      const fields = [
        ...(name === undefined ? [] : ["name"]),
        ...(password === undefined ? [] : ["password"]),
      ]
      call.describe({ targets: [userTarget(user)], metadata: { fields } })
      return toUser({ ...user, ...change })
    }),

    async listSessions(_input, { db, principal, now }) {
      const rows = await accountStore(db).listSessions(principal.id)
      const live = rows.filter(row => isLive(row, now.getTime()))
      return { sessions: live.map(row => toSession(row, principal.session?.id)) }
    },

    async endSession({ id }, call): Promise<undefined> {
      const { db, principal } = call
      if (!(await accountStore(db).deleteSession(principal.id, id))) throw fault("resource_not_found")
      if (id === principal.session?.id) call.setHeader("set-cookie", cookie.cleared)
      call.describe({ targets: [{ type: "session", id }] })
    },
  }
})
