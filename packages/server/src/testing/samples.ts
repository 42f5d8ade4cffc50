/** A valid input for every operation that changes state, and for every one that names a thing by id: each area has its own. */
import type { OperationName } from "@svc/sdk"
import { modules } from "../modules.ts"
import type { Sample, Unsampled } from "./sample-world.ts"

interface AreaSamples {
  readonly samples: Readonly<Record<string, Sample>>
  /** Operations without a sample, and why. */
  readonly unsampled?: Unsampled
}

const folders = ["core", ...modules.map(({ name }) => `areas/${name}`)]
const all: readonly AreaSamples[] = await Promise.all(
  folders.map(folder => import(`../${folder}/testing/samples.ts`)),
)

export const samples: { readonly [Name in OperationName]?: Sample } = Object.assign(
  {},
  ...all.map(({ samples }) => samples),
)

export const unsampled: { readonly [Name in OperationName]?: string } = Object.assign(
  {},
  ...all.map(({ unsampled }) => unsampled),
)
