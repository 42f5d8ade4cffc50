import { type areas, type Input, page, pageOf } from "@svc/contract"
import { checkPassword } from "../../core/accounts/rules.ts"
import { createTenants } from "../../core/organizations/tenants.ts"
import type { AccountCall, Call } from "../../kernel/call.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { Context } from "./context.ts"
import { factorStore } from "./factor-store.ts"
import { checkRedirect, requestMail } from "./mails.ts"
import { toManaged } from "./payloads.ts"
import { JWKS_SECONDS, mergeMetadata, redirectProblem } from "./rules.ts"
import type { ProjectSettings } from "./settings.ts"
import { endEverything, settleNewPassword } from "./settling.ts"
import { callerOf, insertUser, newUser } from "./sign-in-handlers.ts"
import { type UserRow, userStore } from "./store.ts"
import { issuerOf } from "./tokens.ts"

type Specs = typeof areas.auth.specs
type ManageInput = Input<Specs["manageUser"]>

const toSettings = ({ updatedAt, ...settings }: ProjectSettings) => ({
  ...settings,
  updated_at: updatedAt.toISOString(),
})

const target = ({ id, email }: UserRow) => ({ type: "end_user", id, name: email ?? id })

export const settingsHandlers = (
  context: Context,
): Pick<Handlers<Specs>, "getSettings" | "putSettings" | "rotateKeys" | "jwks" | "discovery"> => {
  const { db, changes, baseUrl, keys, projectSettings } = context
  const tenants = createTenants(db, changes)

  const tenantOf = async (projectId: string) => {
    const found = await tenants.find(projectId)
    if (!found) throw fault("project_not_found")
    return { organizationId: found.organization.id, projectId: found.projectId }
  }

  const cacheable = (call: AccountCall) => call.setHeader("cache-control", `public, max-age=${JWKS_SECONDS}`)

  return {
    getSettings: async (_input, { projectTenant }) =>
      toSettings(await projectSettings.of(projectTenant.projectId)),

    async putSettings(chosen, call) {
      for (const url of chosen.redirect_urls ?? []) {
        const problem = redirectProblem(url)
        if (problem !== undefined) throw fault("invalid_parameter", { reason: problem })
      }
      call.describe({ targets: [{ type: "project", id: call.projectTenant.projectId }] })
      return toSettings(await projectSettings.put(call.db, call.projectTenant, chosen, call.now))
    },

    async rotateKeys(_input, call) {
      const { kid, nextKid } = await keys.rotate(call.db, call.projectTenant, call.now)
      call.describe({ targets: [{ type: "signing_key", id: kid }] })
      return { kid, next_kid: nextKid }
    },

    async jwks({ project_id }, call) {
      const { published } = await keys.of(await tenantOf(project_id), call.now)
      cacheable(call)
      return { keys: [...published] }
    },

    async discovery({ project_id }, call) {
      const { projectId } = await tenantOf(project_id)
      const issuer = issuerOf(baseUrl, projectId)
      cacheable(call)
      return {
        issuer,
        jwks_uri: `${issuer}/.well-known/jwks.json`,
        userinfo_endpoint: `${baseUrl}/v1/auth/user`,
        token_endpoint: `${baseUrl}/v1/auth/refresh`,
        response_types_supported: [],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["ES256"],
        claims_supported: [
          "sub",
          "aud",
          "iss",
          "exp",
          "iat",
          "jti",
          "email",
          "is_anonymous",
          "session_id",
          "aal",
          "amr",
        ],
      }
    },
  }
}

export const adminHandlers = (
  context: Context,
): Pick<
  Handlers<Specs>,
  "listUsers" | "createUser" | "showUser" | "manageUser" | "deleteUser" | "invite"
> => {
  const { database, passwords, projectSettings, userChanged } = context

  const find = (call: Call, id: string): Promise<UserRow> =>
    requireRow(userStore(call.db, call.projectTenant.projectId).find(id), "resource_not_found", { id })

  const hashOf = async (call: Call, password: string | undefined, email: string) => {
    if (password === undefined) return undefined
    const { password_length_min } = await projectSettings.of(call.projectTenant.projectId)
    checkPassword(password, email, password_length_min)
    return await passwords.hash(password)
  }

  const shown = async (call: Call, row: UserRow) =>
    toManaged(row, await factorStore(call.db, row.project_id).list(row.id), call.now)

  const changeOf = (input: ManageInput, before: UserRow, now: Date): Partial<UserRow> => ({
    ...(input.email !== undefined && { email: input.email, is_anonymous: false }),
    ...(input.email_confirmed !== undefined && {
      email_confirmed_at: input.email_confirmed ? (before.email_confirmed_at ?? now) : null,
    }),
    ...(input.banned_until !== undefined && {
      banned_until: input.banned_until === null ? null : new Date(input.banned_until),
    }),
    user_metadata: mergeMetadata("user_metadata", before.user_metadata, input.user_metadata),
    app_metadata: mergeMetadata("app_metadata", before.app_metadata, input.app_metadata),
    updated_at: now,
  })

  return {
    async listUsers({ email, ...input }, call) {
      const { projectId } = call.projectTenant
      const { rows, total } = await userStore(call.db, projectId).list(email, pageOf(input))
      const factors = await factorStore(call.db, projectId).listOf(rows.map(({ id }) => id))
      const of = Map.groupBy(factors, ({ user_id }) => user_id)
      return page({ rows: rows.map(row => toManaged(row, of.get(row.id) ?? [], call.now)), total }, input)
    },

    async createUser({ email, password, email_confirmed, user_metadata, app_metadata }, call) {
      const user = newUser(callerOf(call), {
        email,
        password_hash: (await hashOf(call, password, email)) ?? null,
        signup_source: null,
        email_confirmed_at: email_confirmed ? call.now : null,
        user_metadata: mergeMetadata("user_metadata", {}, user_metadata),
        app_metadata: mergeMetadata("app_metadata", {}, app_metadata),
      })
      await database.transaction(tx => insertUser(tx, user))
      call.describe({ targets: [target(user)] })
      return toManaged(user, [], call.now)
    },

    async showUser({ id }, call) {
      return await shown(call, await find(call, id))
    },

    async manageUser(input, call) {
      const { id, password } = input
      const before = await find(call, id)
      const hash = await hashOf(call, password, input.email ?? before.email ?? "")
      const changed = await database.transaction(async tx => {
        const users = userStore(tx, before.project_id)
        const locked = await requireRow(users.findForUpdate(id), "resource_not_found", { id })
        const change = changeOf(input, locked, call.now)
        await users.update(id, change).catch(error => {
          if (!isUniqueViolation(error, "users_email")) throw error
          throw fault("conflict", { reason: "this e-mail address has a user" })
        })
        const user = { ...locked, ...change }
        const isBanned = user.banned_until !== null && user.banned_until > call.now
        if (isBanned) await endEverything(context, tx, user)
        await userChanged(tx, id)
        return hash === undefined ? user : await settleNewPassword(context, tx, user, { hash, now: call.now })
      })
      call.describe({ targets: [target(changed)] })
      return await shown(call, changed)
    },

    async deleteUser({ id }, call): Promise<undefined> {
      const user = await find(call, id)
      await userStore(call.db, user.project_id).delete(id)
      await userChanged(call.db, id)
      call.describe({ targets: [target(user)] })
    },

    async invite({ email, data, redirect_to }, call) {
      const caller = callerOf(call)
      const { signup } = await projectSettings.of(caller.tenant.projectId)
      if (signup === "closed") throw fault("signup_disabled")
      await checkRedirect(context, caller, redirect_to)
      const user = newUser(caller, {
        email,
        password_hash: null,
        signup_source: null,
        user_metadata: mergeMetadata("data", {}, data),
      })
      await insertUser(call.db, user)
      await requestMail(context, call.db, caller, { kind: "invite", email, redirectTo: redirect_to })
      call.describe({ targets: [target(user)] })
      return toManaged(user, [], call.now)
    },
  }
}
