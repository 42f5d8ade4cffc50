/** The installation's model servers: declared once, for the AI gateway and for questions to databases. */
import { readFileSync } from "node:fs"
import { aiUpstreamFields, T } from "@svc/contract"
import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { optional, url } from "../../kernel/setting-parsers.ts"
import { fileProblem } from "../../kernel/validation.ts"
import { type GivenUpstream, type OperatorUpstream, toBaseUrl, toModel } from "./upstream-record.ts"

const FileRecords = T.Array(T.Object(aiUpstreamFields), { maxItems: 200 })

const readRecords = (path: string): readonly GivenUpstream[] => {
  let records: unknown
  try {
    records = JSON.parse(readFileSync(path, "utf8"))
  } catch (error) {
    throw new RangeError(`must name a file of JSON: ${(error as Error).message}`)
  }
  const problem = fileProblem(FileRecords, records)
  if (problem !== undefined) throw new RangeError(`must name a list of upstreams: ${problem}`)
  return records as GivenUpstream[]
}

const toUpstream = ({
  base_url,
  api_key,
  models,
  priority = 0,
  weight = 1,
  ...given
}: GivenUpstream): OperatorUpstream => {
  url("http:", "https:")(base_url)
  return {
    name: given.name,
    baseUrl: toBaseUrl(base_url),
    key: api_key ?? undefined,
    models: models.map(toModel),
    priority,
    weight,
  }
}

/** A file of upstreams; those that are switched off are left out. */
export const upstreamsFile = (path: string | undefined): readonly OperatorUpstream[] => {
  if (path === undefined) return []
  const records = readRecords(path).filter(({ enabled }) => enabled !== false)
  const names = new Set(records.map(({ name }) => name))
  if (names.size < records.length) throw new RangeError("must give each upstream a name of its own")
  return records.map(toUpstream)
}

export const upstreamSettings = {
  aiUpstreams: {
    variable: "SVC_AI_UPSTREAMS",
    default: "none",
    description:
      "JSON file with a list of servers that speak OpenAI's API: `name`, `base_url`, `api_key`, `models`, `priority`, `weight`, as in `POST /v1/ai/upstreams`. They may be on this machine.",
    parse: upstreamsFile,
  },
  aiUrl: {
    variable: "SVC_AI_URL",
    default: "none",
    description:
      "One such server, up to and including the version (`…/v1`); it is tried after those of the file.",
    parse: url("http:", "https:"),
  },
  aiKey: {
    variable: "SVC_AI_KEY",
    default: "none",
    description: "Bearer key of the server that SVC_AI_URL names.",
    secret: true,
    parse: optional,
  },
  aiModel: {
    variable: "SVC_AI_MODEL",
    default: "gpt-4o-mini",
    description: "Models of the server that SVC_AI_URL names, with commas between.",
    parse: (text = "gpt-4o-mini") => text,
  },
} as const satisfies Settings

type UpstreamValues = ValuesOf<typeof upstreamSettings>

/** The installation's upstreams, of the file and of the short form. */
export const operatorUpstreams = ({
  aiUpstreams,
  aiUrl,
  aiKey,
  aiModel,
}: UpstreamValues): readonly OperatorUpstream[] => {
  if (aiUrl === undefined) return aiUpstreams
  const models = aiModel.split(",").flatMap(id => id.trim() || [])
  const priority = Math.max(0, ...aiUpstreams.map(upstream => upstream.priority + 1))
  return [
    ...aiUpstreams,
    {
      name: "default",
      baseUrl: toBaseUrl(aiUrl),
      key: aiKey,
      models: models.map(toModel),
      priority,
      weight: 1,
    },
  ]
}
