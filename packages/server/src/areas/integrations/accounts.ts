import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import {
  type GitAccess,
  type GitAccount,
  type GitApp,
  type GitPort,
  type GitProviderName,
  RateLimitError,
} from "../../ports/git/port.ts"
import { PortError } from "../../ports/port-error.ts"
import { accountStore, type CredentialsRow, type IntegrationRow, type Owner } from "./store.ts"

/** How a project gets into a provider's API. */
export interface Accounts {
  seal(owner: Owner, provider: GitProviderName, secret: string): Promise<string>
  /** Of the row's token; undefined for an App, which gets in by its installations. */
  ofCredentials(row: CredentialsRow): Promise<GitAccess | undefined>
  /** The project's GitHub App. */
  app(db: Db, owner: Owner): Promise<GitApp | undefined>
  /** Who reads an integration's repository; undefined where nobody may. */
  ofIntegration(db: Db, row: IntegrationRow): Promise<GitAccess | undefined>
}

const sealedFor = ({ projectId }: Owner, provider: string): string =>
  `vcs-credentials:${projectId}:${provider}`

const ownerOf = ({
  organization_id,
  project_id,
}: {
  organization_id: string
  project_id: string
}): Owner => ({
  organizationId: organization_id,
  projectId: project_id,
})

export const createAccounts = ({
  git,
  box,
}: {
  readonly git: GitPort
  readonly box: SecretBox
}): Accounts => {
  const open = async (row: CredentialsRow): Promise<GitAccount> => {
    const owner = ownerOf(row)
    const secret = await box.open(owner.organizationId, sealedFor(owner, row.provider), row.secret)
    const { base_url: baseUrl, username, app_id: appId } = row
    return row.kind === "app"
      ? { kind: "app", baseUrl, appId: appId ?? "", privateKey: secret }
      : { kind: "token", baseUrl, token: secret, username }
  }

  const ofCredentials: Accounts["ofCredentials"] = async row => {
    const account = await open(row)
    return account.kind === "token" ? git.access(row.provider as GitProviderName, account) : undefined
  }

  const app: Accounts["app"] = async (db, owner) => {
    const row = await accountStore(db).find(owner, "github")
    const account = row && (await open(row))
    return account?.kind === "app" ? git.app(account) : undefined
  }

  return {
    seal: (owner, provider, secret) => box.seal(owner.organizationId, sealedFor(owner, provider), secret),
    ofCredentials,
    app,
    async ofIntegration(db, row) {
      const owner = ownerOf(row)
      const store = accountStore(db)
      if (row.installation_id !== null) {
        const installation = await store.findInstallation(owner, row.installation_id)
        return installation && (await app(db, owner))?.access(row.installation_id)
      }
      const credentials = await store.find(owner, row.provider as GitProviderName)
      return credentials && ofCredentials(credentials)
    },
  }
}

/** What a tenant is told of a provider's failure. Anything else than a port's is thrown on. */
export const sayingOf = (error: unknown): string => {
  if (error instanceof RateLimitError)
    return `the provider asks for patience until ${error.retryAt.toISOString()}`
  if (!(error instanceof PortError)) throw error
  switch (error.kind) {
    case "missing":
      return "the provider knows nothing of it, or does not show it to these credentials"
    case "refused":
      return "the provider's address is not allowed, or it does not accept the credentials or the request"
    case "unavailable":
      return "the provider does not answer as it should"
  }
}

/** The refusal of a call that the provider's failure ends. */
export const faultOf = (error: unknown, installationId: number) => {
  const reason = sayingOf(error)
  const { kind } = error as PortError
  if (kind === "missing") return fault("installation_not_found", { id: installationId })
  return kind === "refused" ? fault("upstream_error", { reason }) : fault("service_unavailable", { reason })
}
