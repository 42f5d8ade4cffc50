/** A build from its context to an image: stages in their order, and what the last one has become. */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { architecture } from "../../../services/images/manifest.ts"
import { BuildError } from "../build-error.ts"
import { type Dockerfile, parseDockerfile, stagesFor } from "../dockerfile/parse.ts"
import { expand, words } from "../dockerfile/words.ts"
import { scratch } from "./bases.ts"
import { documentOf } from "./config.ts"
import type { Tree } from "./copy-sources.ts"
import type { Layer } from "./layers.ts"
import { PLATFORM } from "./platform.ts"
import { createStageRoot, type StageRoot } from "./roots.ts"
import { runStage } from "./stage.ts"
import type { Base, Bases, BuildContext, Built, StageBase } from "./types.ts"

export interface BuildInput
  extends Pick<
    BuildContext,
    | "tenant"
    | "tree"
    | "args"
    | "noCache"
    | "signal"
    | "now"
    | "cache"
    | "unpack"
    | "fetcher"
    | "machine"
    | "print"
    | "mask"
    | "step"
    | "cached"
  > {
  readonly dockerfile: string
  readonly target: string | undefined
  readonly bases: Bases
  /** Of the build alone, and removed after it. */
  readonly folder: string
}

export interface BuiltImage {
  readonly config: Buffer
  readonly layers: readonly Layer[]
}

const checkPlatform = (platform: string | undefined) => {
  if (platform !== undefined && platform !== "" && platform !== PLATFORM && platform !== "linux")
    throw new BuildError(`images are built for ${PLATFORM} here, not for ${platform}`)
}

const aboutPlatform = (): [string, string][] =>
  ["TARGET", "BUILD"].flatMap(prefix => [
    [`${prefix}PLATFORM`, PLATFORM],
    [`${prefix}OS`, "linux"],
    [`${prefix}ARCH`, architecture],
    [`${prefix}VARIANT`, ""],
  ])

const globalsOf = ({ before, escaping }: Dockerfile, args: ReadonlyMap<string, string>) => {
  const globals = new Map<string, string>(aboutPlatform())
  for (const { text } of before)
    for (const word of words(text, name => globals.get(name), escaping)) {
      const at = word.indexOf("=")
      const name = at < 0 ? word : word.slice(0, at)
      const value = args.get(name) ?? (at < 0 ? undefined : word.slice(at + 1))
      if (value !== undefined) globals.set(name, value)
    }
  return globals
}

export const buildImage = async (input: BuildInput): Promise<BuiltImage> => {
  const { folder, signal, tenant, bases } = input
  const dockerfile = parseDockerfile(input.dockerfile)
  const globals = globalsOf(dockerfile, input.args)
  const layersAt = join(folder, "layers")
  await mkdir(layersAt)
  const built = new Map<number, Built>()
  const imageRoots = new Map<string, StageRoot>()
  let folders = 0

  const newFolder = async (): Promise<string> => {
    folders += 1
    const path = join(folder, `part-${folders}`)
    await mkdir(path)
    return path
  }

  const stageNamed = (name: string): Built | undefined => {
    const { stages } = dockerfile
    const index = /^\d+$/.test(name)
      ? Number(name)
      : stages.findLastIndex((stage, at) => built.has(at) && stage.name === name.toLowerCase())
    return built.get(index)
  }

  const baseOf = async (name: string): Promise<StageBase> => {
    const like = stageNamed(name)
    if (like) return { digest: like.chain, document: {}, layers: like.layers, like }
    const base: Base =
      name === "scratch" ? scratch : await bases.find(tenant, name, await newFolder(), signal)
    return { ...base, like: undefined }
  }

  const treeOf = async (name: string): Promise<Tree> => {
    const root = stageNamed(name)?.root ?? imageRoots.get(name)
    const plain = { isLeftOut: () => false, hasOwners: true }
    if (root) return { root: await root.directory(), ...plain }
    const { layers } = await bases.find(tenant, name, await newFolder(), signal)
    const made = createStageRoot(await newFolder(), { layers, like: undefined }, input.unpack, signal)
    imageRoots.set(name, made)
    return { root: await made.directory(), ...plain }
  }

  const triggers = (texts: readonly string[]) =>
    texts.length === 0
      ? []
      : (parseDockerfile(["FROM scratch", ...texts].join("\n")).stages[0]?.instructions ?? [])

  const context: BuildContext = { ...input, globals, layersAt, treeOf, triggers }
  let last: Built | undefined
  for (const index of stagesFor(dockerfile, input.target)) {
    const stage = dockerfile.stages[index]
    if (!stage) continue
    const replace = (text: string) =>
      expand(text, name => input.args.get(name) ?? globals.get(name), dockerfile.escaping)
    checkPlatform(stage.platform === undefined ? undefined : replace(stage.platform))
    const name = replace(stage.base)
    if (name === "") throw new BuildError(`Dockerfile line ${stage.line}: FROM names no image`)
    input.step(`FROM ${name}`)
    last = await runStage(context, dockerfile, stage, await baseOf(name), await newFolder())
    built.set(index, last)
  }
  if (!last) throw new BuildError("the Dockerfile builds nothing")
  const created = new Date(input.now()).toISOString()
  const diffIds = last.layers.map(({ diffId }) => diffId)
  const document = documentOf(last.state, { architecture, diffIds, created })
  return { config: Buffer.from(JSON.stringify(document)), layers: last.layers }
}
