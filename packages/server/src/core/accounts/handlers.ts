import { areas, type Output } from "@svc/contract"
import type { AccountCall, Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { createSessionCookie } from "./cookie.ts"
import { clearFailures, proveIdentity } from "./proof.ts"
import { resetHandlers } from "./reset-handlers.ts"
import { checkPassword, isLive } from "./rules.ts"
import { createSignIn, toUser, userTarget } from "./sign-in.ts"
import { type SignupNeeds, signupHandlers } from "./signup-handlers.ts"
import { accountStore, type SessionRow, type UserRow } from "./store.ts"

type Specs = typeof areas.account.specs
type SessionPayload = Output<Specs["listSessions"]>["sessions"][number]

const toSession = (row: SessionRow, currentId: string | undefined): SessionPayload => ({
  id: row.id,
  current: row.id === currentId,
  ip: row.ip,
  user_agent: row.user_agent,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})

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

interface Needs extends Omit<SignupNeeds, "signIn"> {
  readonly baseUrl: string
}

// Hashing takes a while and may have to queue. Whatever hashes runs outside the pipeline's transaction, so that a wave of
// sign-ins cannot hold every database connection, and so that counted failures outlive the refusal.
export const accountHandlers = implement(areas.account, ({ passwords, baseUrl, signup, mailJobs }: Needs) => {
  const cookie = createSessionCookie(baseUrl)

  const signIn = createSignIn(cookie)

  return {
    ...signupHandlers({ passwords, signup, signIn, mailJobs }),
    ...resetHandlers({ passwords, mailJobs }),

    login: async ({ email, password }, call) => {
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
    },

    reauthenticate: async ({ password }, call) => {
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
    },

    async logout(_input, call): Promise<undefined> {
      await accountStore(call.db).deleteSession(call.principal.id, currentSessionId(call))
      call.setHeader("set-cookie", cookie.cleared)
    },

    async get(_input, call) {
      return toUser(await getUser(call))
    },

    update: async ({ name, password, current_password }, call) => {
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
    },

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
