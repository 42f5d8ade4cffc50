/** What the parts of the engine hand to one another. */
import type { Instruction } from "../dockerfile/parse.ts"
import type { StepCache } from "./cache.ts"
import type { ImageState } from "./config.ts"
import type { Fetcher, Tree } from "./copy-sources.ts"
import type { Layer } from "./layers.ts"
import type { MachineNeeds, Print } from "./machine.ts"
import type { StageRoot, Unpack } from "./roots.ts"

export interface Base {
  readonly digest: string
  readonly document: Readonly<Record<string, unknown>>
  readonly layers: readonly Layer[]
}

export interface Tenant {
  readonly organizationId: string
  readonly projectId: string
}

export interface Bases {
  /** Files of its layers are in `folder`, which is there. Throws a BuildError. */
  find(tenant: Tenant, name: string, folder: string, signal: AbortSignal): Promise<Base>
}

export interface Built {
  readonly state: ImageState
  readonly layers: readonly Layer[]
  readonly root: StageRoot
  /** Names all that led to it. */
  readonly chain: string
}

/** What a stage has of the build that it belongs to. */
export interface BuildContext {
  readonly tenant: Tenant
  readonly tree: Tree
  readonly args: ReadonlyMap<string, string>
  /** ARG instructions before the first FROM, and what the platform says of itself. */
  readonly globals: ReadonlyMap<string, string>
  readonly noCache: boolean
  readonly signal: AbortSignal
  readonly now: () => number
  readonly cache: StepCache
  readonly unpack: Unpack
  readonly fetcher: Fetcher
  readonly machine: MachineNeeds
  /** Where layers are until the build is over. */
  readonly layersAt: string
  readonly print: Print
  mask(text: string): string
  /** A step begins. */
  step(text: string): void
  /** The step was there already. */
  cached(): void
  /** The files of another stage or image. */
  treeOf(name: string): Promise<Tree>
  /** Instructions that a base image leaves to those who begin with it. */
  triggers(texts: readonly string[]): readonly Instruction[]
}

export interface StageBase {
  readonly digest: string
  readonly document: Readonly<Record<string, unknown>>
  readonly layers: readonly Layer[]
  /** Another stage that it goes on from. */
  readonly like: Built | undefined
}
