/** Which models there are, at which upstreams, in the order in which they are tried. */
import { AI_DEFAULT_MODEL, type AiKind, type PlanName, planNames } from "@svc/contract"
import { type OperatorUpstream, toBaseUrl, type UpstreamModel } from "../../core/ai/upstream-record.ts"
import { NotDecryptable, type SecretBox } from "../../core/secrets/secret-box.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import { type UpstreamRow, upstreamStore } from "./store.ts"

export const UPSTREAMS_TOPIC = "ai-upstreams"
const CACHED_MAX = 10_000

export interface Upstream {
  /** Unique over all tenants. */
  readonly key: string
  readonly name: string
  readonly baseUrl: string
  readonly apiKey: string | undefined
  /** An organization's own is requested through the guarded client, and paid to its vendor. */
  readonly isOwn: boolean
  /** The smallest is tried first: those of the organization's before the installation's. */
  readonly rank: number
  readonly weight: number
  readonly models: readonly UpstreamModel[]
}

/** One model at one upstream. */
export interface Candidate {
  readonly upstream: Upstream
  readonly model: UpstreamModel
}

const RANKS_OF_OWN = 10_000

const toOperator = ({ name, baseUrl, key, models, priority, weight }: OperatorUpstream): Upstream => ({
  key: `installation:${name}`,
  name,
  baseUrl,
  apiKey: key,
  isOwn: false,
  rank: RANKS_OF_OWN + priority,
  weight,
  models,
})

export const sealedFor = (id: string): string => `ai-upstream:${id}`

const allows = (plan: PlanName, { min_plan }: UpstreamModel): boolean =>
  min_plan === undefined || planNames.indexOf(plan) >= planNames.indexOf(min_plan)

/** The models that do this and that the plan may call, in the order in which they are tried. */
export const callable = (upstreams: readonly Upstream[], kind: AiKind, plan: PlanName): Candidate[] =>
  upstreams.flatMap(upstream =>
    upstream.models
      .filter(model => model.kinds.includes(kind) && allows(plan, model))
      .map(model => ({ upstream, model })),
  )

/** Those that a name means: the bare id at every upstream, or `upstream/id`; the first model where none is named. */
export const named = (candidates: readonly Candidate[], name: string | undefined): Candidate[] => {
  const wanted = name === undefined || name === AI_DEFAULT_MODEL ? candidates[0]?.model.id : name
  const bare = candidates.filter(({ model }) => model.id === wanted)
  if (bare.length > 0) return bare
  return candidates.filter(({ upstream, model }) => `${upstream.name}/${model.id}` === wanted)
}

export interface Catalog {
  /** The operator's, sorted by rank. */
  readonly installation: readonly Upstream[]
  /** Sorted by rank. */
  upstreamsOf(organizationId: string): Promise<readonly Upstream[]> | readonly Upstream[]
  /** With its key opened. */
  open(row: UpstreamRow): Promise<Upstream>
}

export const createCatalog = (needs: {
  readonly db: Db
  readonly changes: Changes
  readonly box: SecretBox
  readonly installation: readonly OperatorUpstream[]
}): Catalog => {
  const { db, changes, box } = needs
  const installation = needs.installation.map(toOperator).sort((a, b) => a.rank - b.rank)

  const open = async (row: UpstreamRow): Promise<Upstream> => ({
    key: row.id,
    name: row.name,
    baseUrl: toBaseUrl(row.base_url),
    apiKey:
      row.api_key === null ? undefined : await box.open(row.organization_id, sealedFor(row.id), row.api_key),
    isOwn: true,
    rank: row.priority,
    weight: row.weight,
    models: row.models,
  })

  /** An organization that was erased has no keys any more. */
  const openAll = async (rows: readonly UpstreamRow[]): Promise<Upstream[]> => {
    try {
      return await Promise.all(rows.map(open))
    } catch (error) {
      if (error instanceof NotDecryptable) return []
      throw error
    }
  }

  const cache = createPushedCache<{ readonly id: string; readonly upstreams: readonly Upstream[] }>({
    changes,
    topics: { [UPSTREAMS_TOPIC]: "one", organization: "all" },
    async read(organizationId) {
      const own = await openAll(await upstreamStore(db, organizationId).enabled())
      const upstreams = [...own, ...installation].sort((a, b) => a.rank - b.rank)
      return { id: organizationId, upstreams }
    },
    idOf: ({ id }) => id,
    entriesMax: CACHED_MAX,
  })

  return {
    installation,
    open,
    upstreamsOf(organizationId) {
      const found = cache.find(organizationId)
      return found instanceof Promise ? found.then(({ upstreams }) => upstreams) : found.upstreams
    },
  }
}
