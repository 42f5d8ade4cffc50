/** Whose an outside identity is. */
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Caller, Context } from "./context.ts"
import type { Identity } from "./provider-presets.ts"
import { type IdentityRow, identityStore, type ProviderSignInRow } from "./provider-store.ts"
import { settleConfirmation } from "./settling.ts"
import { insertUser, newUser } from "./sign-in-handlers.ts"
import { type UserRow, userStore } from "./store.ts"

type Waiting = Pick<ProviderSignInRow, "provider" | "linking_user_id">

/** The user whose address it is. That the provider has verified it is what shows that they are one person. */
const userByAddress = async (
  context: Context,
  tx: Db,
  { tenant, now }: Caller,
  { email, emailVerified }: Identity,
): Promise<UserRow | undefined> => {
  const users = userStore(tx, tenant.projectId)
  const known = email === null ? undefined : await users.findByEmail(email)
  const user = known && (await users.findForUpdate(known.id))
  if (!user) return undefined
  if (!emailVerified) throw fault("provider_email_unverified")
  return await settleConfirmation(context, tx, user, { isSamePerson: false, now })
}

const makeUser = async (
  { projectSettings }: Context,
  tx: Db,
  caller: Caller,
  { email, emailVerified, name }: Identity,
): Promise<UserRow> => {
  const { signup } = await projectSettings.of(caller.tenant.projectId)
  if (signup !== "open") throw fault("signup_disabled")
  const user = newUser(caller, {
    // An address that nobody has verified would keep its owner out.
    email: emailVerified ? email : null,
    email_confirmed_at: emailVerified ? caller.now : null,
    password_hash: null,
    signup_source: null,
    user_metadata: name === null ? {} : { name },
  })
  await insertUser(tx, user)
  return user
}

/** Whom a signed-in user links the identity to: themselves. */
const linkingUser = async (
  { userChanged }: Context,
  tx: Db,
  { tenant, now }: Caller,
  id: string,
  { email, emailVerified }: Identity,
): Promise<UserRow> => {
  const users = userStore(tx, tenant.projectId)
  const user = await users.findForUpdate(id)
  if (!user) throw fault("token_invalid_or_expired")
  if (!user.is_anonymous) return user
  const isFree = email !== null && emailVerified && !(await users.findByEmail(email))
  const changed = {
    is_anonymous: false,
    updated_at: now,
    ...(isFree && { email, email_confirmed_at: now }),
  }
  await users.update(id, changed)
  await userChanged(tx, id)
  return { ...user, ...changed }
}

/**
 * The user of an identity, which is linked where it is new. Throws `conflict`, `signup_disabled` and
 * `provider_email_unverified`.
 */
export const resolveIdentity = async (
  context: Context,
  tx: Db,
  caller: Caller,
  { provider, linking_user_id }: Waiting,
  identity: Identity,
): Promise<UserRow> => {
  const { tenant, now } = caller
  const { issuer, subject, email } = identity
  const store = identityStore(tx, tenant.projectId)
  const known = await store.findForUpdate({ provider, issuer, subject })
  if (known) {
    if (linking_user_id !== null && known.user_id !== linking_user_id)
      throw fault("conflict", { reason: "this identity belongs to another user" })
    const user = await userStore(tx, tenant.projectId).findForUpdate(known.user_id)
    if (!user) throw fault("token_invalid_or_expired")
    await store.update(known.id, { email, last_used_at: now })
    return user
  }
  const user =
    linking_user_id === null
      ? ((await userByAddress(context, tx, caller, identity)) ??
        (await makeUser(context, tx, caller, identity)))
      : await linkingUser(context, tx, caller, linking_user_id, identity)
  const row: IdentityRow = {
    id: newId(now.getTime()),
    project_id: tenant.projectId,
    user_id: user.id,
    ...{ provider, issuer, subject, email },
    created_at: now,
    last_used_at: now,
  }
  await store.insert(row)
  return user
}
