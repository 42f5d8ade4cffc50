import { createHash, createPrivateKey, createPublicKey } from "node:crypto"
import { type areas, type Input, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { GitAccess, GitPort, GitProviderName, Installation } from "../../ports/git/port.ts"
import { PortError } from "../../ports/port-error.ts"
import { type Accounts, faultOf, sayingOf } from "./accounts.ts"
import { toCredentials, toInstallation } from "./payloads.ts"
import { accountStore, type CredentialsRow, type InstallationRow, type Owner } from "./store.ts"

type Specs = typeof areas.integrations.specs

export interface CredentialsNeeds {
  readonly git: GitPort
  readonly accounts: Accounts
  readonly urlProblem: (url: string) => string | undefined
}

/** Asked at the same time for one listing. */
const ASKED_AT_ONCE = 5
const INSTALLATIONS_MAX = 100

const refuse = (reason: string): never => {
  throw fault("invalid_parameter", { reason })
}

/** GitHub shows the same of an App's key. */
const fingerprintOf = (privateKey: string): string => {
  try {
    const key = createPrivateKey(privateKey)
    if (key.asymmetricKeyType === "rsa") {
      const der = createPublicKey(key).export({ type: "spki", format: "der" })
      return `SHA256:${createHash("sha256").update(der).digest("base64")}`
    }
  } catch {
    // Below.
  }
  return refuse("private_key must be an RSA key in PEM")
}

const VISIBLE = /^[\x21-\x7e]+$/
const HINT_LENGTH = 4

type CredentialsInput = Omit<Input<Specs["putCredentials"]>, "provider">

/** What is kept of credentials, the secret of them in plain. */
const readCredentials = (
  provider: GitProviderName,
  { token, app_id, private_key, ...given }: CredentialsInput,
): Pick<CredentialsRow, "kind" | "username" | "app_id" | "secret" | "hint"> => {
  const username = given.username ?? null
  if (token !== undefined) {
    if (app_id !== undefined || private_key !== undefined)
      refuse("send either token, or app_id and private_key")
    if (!VISIBLE.test(token)) refuse("token must be letters, digits and signs without spaces")
    if (username !== null && (provider !== "bitbucket" || !VISIBLE.test(username) || username.includes(":")))
      refuse("username is for Bitbucket, and has no spaces or colons")
    return { kind: "token", username, app_id: null, secret: token, hint: token.slice(-HINT_LENGTH) }
  }
  if (provider !== "github" || app_id === undefined || private_key === undefined)
    return refuse(provider === "github" ? "send token, or app_id and private_key" : "send token")
  if (username !== null) refuse("username is for Bitbucket")
  if (!VISIBLE.test(app_id)) refuse("app_id must have no spaces")
  return { kind: "app", username, app_id, secret: private_key, hint: fingerprintOf(private_key) }
}

const installationRow = (
  { organizationId, projectId }: Owner,
  { id, account, repositorySelection, permissions, suspendedAt, htmlUrl }: Installation,
  now: Date,
) => ({
  ...{ organization_id: organizationId, project_id: projectId, installation_id: id },
  ...{ account_login: account.login, account_type: account.type },
  ...{ repository_selection: repositorySelection, permissions: JSON.stringify(permissions) },
  ...{ suspended_at: suspendedAt, html_url: htmlUrl, created_at: now },
})

const target = (installationId: number) => ({ type: "vcs_installation", id: String(installationId) })
const credentialsTarget = (provider: string) => ({ type: "vcs_credentials", id: provider })

interface Source {
  readonly provider: GitProviderName
  readonly installationId: number | null
  readonly access: () => Promise<GitAccess | undefined>
}

type Listed = Awaited<ReturnType<typeof listSource>>

/** What one source lists, or why it cannot: the others must not suffer for it. */
const listSource = async ({ provider, installationId, access }: Source, signal: AbortSignal) => {
  const origin = { provider, installation_id: installationId }
  try {
    const repositories = (await (await access())?.repositories(signal)) ?? []
    const data = repositories.map(({ id, fullName, private: isPrivate, defaultBranch, cloneUrl }) => ({
      ...{ id, full_name: fullName, private: isPrivate, default_branch: defaultBranch },
      ...{ clone_url: cloneUrl, ...origin },
    }))
    return { data, errors: [] }
  } catch (error) {
    return { data: [], errors: [{ ...origin, message: sayingOf(error) }] }
  }
}

const installationHandlers = ({ accounts }: CredentialsNeeds) => ({
  async installations(input: Input<Specs["installations"]>, call: Call) {
    const { rows, total } = await accountStore(call.db).installations(call.projectTenant, pageOf(input))
    return page({ rows: rows.map(toInstallation), total }, input)
  },

  linkInstallation: async ({ installation_id }: Input<Specs["linkInstallation"]>, call: Call) => {
    const owner = call.projectTenant
    const app = await accounts.app(call.db, owner)
    if (!app) throw fault("invalid_parameter", { reason: "the project's credentials of github are no App" })
    let installation: Installation
    try {
      installation = await app.installation(installation_id, call.signal)
    } catch (error) {
      throw faultOf(error, installation_id)
    }
    const store = accountStore(call.db)
    const { total } = await store.installations(owner, { limit: 1, offset: 0 })
    if (total >= INSTALLATIONS_MAX) refuse(`there are ${INSTALLATIONS_MAX} installations already`)
    const before = await store.findInstallation(owner, installation_id)
    const since = before?.created_at ?? call.now
    const row = installationRow(owner, { ...installation, id: installation_id }, since)
    await store.putInstallation(row)
    call.describe({ targets: [target(installation_id)] })
    return toInstallation({ ...row, permissions: installation.permissions })
  },

  async unlinkInstallation({ installation_id }: Input<Specs["unlinkInstallation"]>, call: Call) {
    if (!(await accountStore(call.db).deleteInstallations(call.projectTenant, installation_id)))
      throw fault("installation_not_found", { id: installation_id })
    call.describe({ targets: [target(installation_id)] })
  },

  createInstallationToken: async (
    { installation_id, repository_ids, permissions }: Input<Specs["createInstallationToken"]>,
    call: Call,
  ) => {
    const owner = call.projectTenant
    const installation = await accountStore(call.db).findInstallation(owner, installation_id)
    const app = installation && (await accounts.app(call.db, owner))
    if (!app) throw fault("installation_not_found", { id: installation_id })
    call.describe({ targets: [target(installation_id)], metadata: { repository_ids, permissions } })
    const narrowing = { repositoryIds: repository_ids, permissions }
    try {
      const issued = await app.token(installation_id, narrowing, call.signal)
      return {
        ...{ token: issued.token, expires_at: issued.expiresAt.toISOString() },
        permissions: { ...issued.permissions },
        repository_selection: issued.repositorySelection,
      }
    } catch (error) {
      const isNarrowed = repository_ids !== undefined || permissions !== undefined
      if (isNarrowed && error instanceof PortError && error.kind === "refused")
        return refuse("the installation has no such repositories or permissions")
      throw faultOf(error, installation_id)
    }
  },

  async repos(_: Input<Specs["repos"]>, call: Call) {
    const owner = call.projectTenant
    const store = accountStore(call.db)
    const { rows } = await store.installations(owner, { limit: INSTALLATIONS_MAX, offset: 0 })
    const app = rows.length > 0 ? await accounts.app(call.db, owner) : undefined
    const isActive = ({ suspended_at }: InstallationRow) => suspended_at === null
    const sources: Source[] = [
      ...rows.filter(isActive).map(({ installation_id }) => ({
        provider: "github" as const,
        installationId: installation_id,
        access: async () => app?.access(installation_id),
      })),
      ...(await store.list(owner))
        .filter(({ kind }) => kind === "token")
        .map(row => ({
          provider: row.provider as GitProviderName,
          installationId: null,
          access: () => accounts.ofCredentials(row),
        })),
    ]
    const listed: Listed[] = []
    for (let at = 0; at < sources.length; at += ASKED_AT_ONCE) {
      const some = sources.slice(at, at + ASKED_AT_ONCE)
      listed.push(...(await Promise.all(some.map(source => listSource(source, call.signal)))))
    }
    return { data: listed.flatMap(({ data }) => data), errors: listed.flatMap(({ errors }) => errors) }
  },
})

export const credentialsHandlers = (needs: CredentialsNeeds) => {
  const { git, accounts, urlProblem } = needs
  return {
    ...installationHandlers(needs),

    async putCredentials({ provider, base_url, ...given }: Input<Specs["putCredentials"]>, call: Call) {
      const owner = call.projectTenant
      const problem = base_url === undefined ? undefined : urlProblem(base_url)
      if (problem !== undefined) refuse(problem)
      if (base_url !== undefined && /[?#]/.test(base_url)) refuse("base_url must end with its path")
      const { secret, ...fields } = readCredentials(provider, given)
      const store = accountStore(call.db)
      const before = await store.find(owner, provider)
      const row: CredentialsRow = {
        ...{ organization_id: owner.organizationId, project_id: owner.projectId, provider },
        ...fields,
        base_url: base_url?.replace(/\/+$/, "") ?? git.baseUrls[provider],
        secret: await accounts.seal(owner, provider, secret),
        ...{ created_at: before?.created_at ?? call.now, updated_at: call.now },
      }
      await store.put(row)
      // Installations are the project's because of the App whose they are.
      const isSameApp =
        row.kind === "app" && before?.app_id === row.app_id && before.base_url === row.base_url
      if (provider === "github" && !isSameApp) await store.deleteInstallations(owner)
      call.describe({ targets: [credentialsTarget(provider)] })
      return toCredentials(row)
    },

    async getCredentials({ provider }: Input<Specs["getCredentials"]>, call: Call) {
      const row = await requireRow(
        accountStore(call.db).find(call.projectTenant, provider),
        "resource_not_found",
      )
      return toCredentials(row)
    },

    async deleteCredentials({ provider }: Input<Specs["deleteCredentials"]>, call: Call) {
      const owner = call.projectTenant
      const store = accountStore(call.db)
      if (!(await store.delete(owner, provider))) throw fault("resource_not_found")
      if (provider === "github") await store.deleteInstallations(owner)
      call.describe({ targets: [credentialsTarget(provider)] })
    },
  }
}
