/** A platform with upstreams of its operator's, which fail as a test says. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import type { PlanName } from "@svc/contract"
import { type AiUpstream, startAiUpstream } from "../../../testing/ai-upstream.ts"
import { everyScope, type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"

export const CHAT_MODEL = {
  id: "gpt-test",
  kinds: ["chat"],
  context_length: 100_000,
  max_output_tokens: 1_000,
  // One micro for an input token, ten for one of the output.
  prices: { input_micros_per_mtok: 1_000_000, output_micros_per_mtok: 10_000_000 },
} as const

export const MODELS = [
  CHAT_MODEL,
  { id: "embed-test", kinds: ["embedding"], prices: { input_micros_per_mtok: 1_000_000 } },
  { id: "image-test", kinds: ["image"], prices: { image_micros: 40_000 } },
  { id: "tts-test", kinds: ["speech"], prices: { speech_micros_per_mchar: 15_000_000 } },
  { id: "whisper-test", kinds: ["transcription"], prices: { transcription_micros_per_minute: 6_000 } },
] as const

export interface UpstreamOptions {
  readonly priority?: number
  readonly weight?: number
  readonly models?: readonly unknown[]
  readonly api_key?: string
}

/** The upstreams by name, in a file as an operator writes it. */
export const upstreamsFile = async (
  t: TestContext,
  upstreams: Readonly<Record<string, UpstreamOptions & { readonly base_url: string }>>,
): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-ai-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, "upstreams.json")
  const records = Object.entries(upstreams).map(([name, upstream]) => ({ name, models: MODELS, ...upstream }))
  await writeFile(path, JSON.stringify(records))
  return path
}

export interface AiWorld {
  readonly p: TestPlatform
  readonly first: AiUpstream
  readonly second: AiUpstream
  /** The secret of a key with every scope. */
  readonly secret: string
  readonly tenantId: string
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>
  /** A chat with a body that says little. */
  chat(fields?: Readonly<Record<string, unknown>>, init?: RequestInit): Promise<Response>
  budget(): Promise<{ spent_micros: number; reserved_micros: number; monthly_limit_micros: number | null }>
}

export const MESSAGES = [{ role: "user", content: "Say something." }]

/** Two upstreams of the same models, `first` before `second`. */
export const aiWorld = async (
  t: TestContext,
  options: PlatformOptions & { readonly plan?: PlanName; readonly second?: UpstreamOptions } = {},
): Promise<AiWorld> => {
  const [first, second] = await Promise.all([startAiUpstream(t), startAiUpstream(t)])
  const file = await upstreamsFile(t, {
    first: { base_url: first.url, priority: 0, api_key: "sk-first" },
    second: { base_url: second.url, priority: 1, ...options.second },
  })
  const p = await platform(t, { ...options, env: { SVC_AI_UPSTREAMS: file, ...options.env } })
  const { organizationId: tenantId } = await p.tenant("acme", options.plan)
  const { secret } = await p.key("acme", everyScope, { project_id: null })
  const svc = p.as(secret)
  const post: AiWorld["post"] = (path, body, init) =>
    p.request(path, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...init,
    })
  return {
    ...{ p, first, second, secret, tenantId, post },
    chat: (fields = {}, init) =>
      post("/v1/ai/chat/completions", { model: "gpt-test", messages: MESSAGES, ...fields }, init),
    budget: () => svc.ai.budget({}),
  }
}

/** The data of each event of a reply. */
export const eventsOf = async (response: Response): Promise<string[]> =>
  (await response.text()).split("\n\n").flatMap(event => (event.startsWith("data: ") ? event.slice(6) : []))

export const textOf = (events: readonly string[]): string =>
  events
    .filter(data => data !== "[DONE]")
    .map(
      data =>
        (JSON.parse(data) as { choices: { delta?: { content?: string } }[] }).choices[0]?.delta?.content ??
        "",
    )
    .join("")
