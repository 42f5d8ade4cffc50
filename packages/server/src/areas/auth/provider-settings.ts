import { type areas, type Input, type Output, PROVIDERS_MAX } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Context } from "./context.ts"
import { presetOf } from "./provider-presets.ts"
import { type ProviderRow, providerStore } from "./provider-store.ts"

type Specs = typeof areas.auth.specs
type PutInput = Input<Specs["putProvider"]>

export const secretContext = ({ project_id, name }: Pick<ProviderRow, "project_id" | "name">) =>
  `auth.providers:${project_id}:${name}`

export const callbackUrl = (baseUrl: string, name: string) => `${baseUrl}/v1/auth/providers/${name}/callback`

const invalid = (reason: string) => fault("invalid_parameter", { reason })

export const providerSettingsHandlers = (
  context: Context,
): Pick<Handlers<Specs>, "listProviders" | "putProvider" | "deleteProvider"> => {
  const { baseUrl, box, outbound } = context

  const toProvider = (row: ProviderRow): Output<Specs["putProvider"]> => ({
    provider: row.name,
    enabled: row.enabled,
    client_id: row.client_id,
    has_secret: row.client_secret !== null,
    issuer: row.issuer,
    scopes: row.scopes,
    team_id: row.team_id,
    key_id: row.key_id,
    callback_url: callbackUrl(baseUrl, row.name),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  })

  const issuerOf = ({ provider, issuer = presetOf(provider).issuer }: PutInput): string => {
    if (issuer === undefined) throw fault("missing_parameter", { field: "issuer" })
    const problem = outbound.urlProblem(issuer)
    if (problem !== undefined) throw invalid(`issuer: ${problem}`)
    if (/[?#]/.test(issuer)) throw invalid("issuer: it has a query or a fragment")
    return issuer
  }

  const checkApple = async (input: PutInput): Promise<void> => {
    if (input.provider !== "apple") return
    for (const field of ["team_id", "key_id"] as const)
      if (input[field] === undefined) throw fault("missing_parameter", { field })
    const { isAppleKey } = await import("./provider-client.ts")
    if (input.client_secret !== undefined && !isAppleKey(input.client_secret))
      throw invalid("client_secret: it is not a private key of P-256 in PEM form")
  }

  /** A secret is for one issuer: another one, to which it would be sent, needs its own. */
  const secretOf = async (call: Call, input: PutInput, issuer: string, before: ProviderRow | undefined) => {
    const { organizationId, projectId } = call.projectTenant
    if (input.client_secret === undefined) return before?.issuer === issuer ? before.client_secret : null
    return box.seal(
      organizationId,
      secretContext({ project_id: projectId, name: input.provider }),
      input.client_secret,
    )
  }

  return {
    async listProviders(_input, call) {
      const rows = await providerStore(call.db, call.projectTenant.projectId).list()
      return { providers: rows.map(toProvider) }
    },

    async putProvider(input, call) {
      const { organizationId, projectId } = call.projectTenant
      const issuer = issuerOf(input)
      await checkApple(input)
      const store = providerStore(call.db, projectId)
      const all = await store.list()
      const before = all.find(({ name }) => name === input.provider)
      if (!before && all.length >= PROVIDERS_MAX)
        throw invalid(`a project has at most ${PROVIDERS_MAX} providers`)
      const row: ProviderRow = {
        project_id: projectId,
        organization_id: organizationId,
        name: input.provider,
        enabled: input.enabled ?? true,
        client_id: input.client_id,
        client_secret: await secretOf(call, input, issuer, before),
        issuer,
        scopes: [...(input.scopes ?? presetOf(input.provider).scopes)],
        team_id: input.team_id ?? null,
        key_id: input.key_id ?? null,
        created_at: before?.created_at ?? call.now,
        updated_at: call.now,
      }
      await store.put(row)
      await store.endAll(row.name)
      call.describe({ targets: [{ type: "auth_provider", id: row.name }] })
      return toProvider(row)
    },

    async deleteProvider({ provider }, call): Promise<undefined> {
      const store = providerStore(call.db, call.projectTenant.projectId)
      if (!(await store.delete(provider))) throw fault("resource_not_found", { id: provider })
      await store.endAll(provider)
      call.describe({ targets: [{ type: "auth_provider", id: provider }] })
    },
  }
}
