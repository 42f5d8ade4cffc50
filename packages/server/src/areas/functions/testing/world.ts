import type { TestContext } from "node:test"
import type { Svc } from "@svc/sdk"
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
