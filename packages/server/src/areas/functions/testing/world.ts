import type { TestContext } from "node:test"
import type { Svc } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"
import {
  everyScope,
  type PlatformOptions,
  platform,
  type TestPlatform,
  uniqueName,
} from "../../../testing/platform.ts"

export interface FunctionWorld {
  readonly platform: TestPlatform
  readonly svc: Svc
  readonly secret: string
}

export const functionWorld = async (
  t: TestContext,
  options: PlatformOptions = {},
): Promise<FunctionWorld> => {
  const p = await platform(t, options)
  const { secret } = await p.key("acme", everyScope)
  return { platform: p, svc: p.as(secret), secret }
}

type Deployed = Awaited<ReturnType<Svc["functions"]["create"]>>
type DeployInput = Parameters<Svc["functions"]["create"]>[0]

/** A JavaScript function of that code. */
export const deploy = (
  { svc }: Pick<FunctionWorld, "svc">,
  code: string,
  rest: Partial<DeployInput> = {},
): Promise<Deployed> => svc.functions.create({ name: uniqueName(), runtime: "nodejs", code, ...rest })

/** Invokes it, and gives the answer of a call that was waited for. */
export const invoke = async (
  { svc }: Pick<FunctionWorld, "svc">,
  id: string,
  payload: Record<string, unknown> = {},
) => {
  const answer = await svc.functions.invoke({ id, payload })
  if (answer.status === "queued") throw new Error("it was not waited for")
  return answer
}

/** The text of every line that the function printed. */
export const printed = async ({ svc }: Pick<FunctionWorld, "svc">, id: string): Promise<string[]> =>
  (await svc.functions.logs({ id, limit: 1_000 })).data.map(({ stream, message }) => `${stream} ${message}`)

/** Less than what is seldom done, of what runs for as long as `until` waits. */
const STEP_MS = 100

/**
 * Looks until it is so, turning the clock on between two looks. By little: of a run that takes seconds on a busy machine
 * the platform must not find that it has taken minutes, or that its process gave no sign of life meanwhile.
 */
export const advanceUntil = async <Found>(
  { platform: { clock } }: Pick<FunctionWorld, "platform">,
  look: () => Promise<Found | undefined | false>,
) =>
  eventually("it comes to be", async () => {
    const found = await look()
    if (!found) await clock.advance(STEP_MS)
    return found
  })
