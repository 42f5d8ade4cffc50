/** One stage of a Dockerfile, instruction by instruction. */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { BuildError } from "../build-error.ts"
import { readIgnore } from "../dockerfile/ignore.ts"
import type { Dockerfile, Instruction, Stage } from "../dockerfile/parse.ts"
import { expand, type Variables, words } from "../dockerfile/words.ts"
import { keyOf } from "./cache.ts"
import { emptyState, type ImageState, PATH_DEFAULT, SHELL_DEFAULT, stateOf } from "./config.ts"
import { copyEntries, ownerOf, workdirEntries } from "./copy.ts"
import { findSources, type Tree } from "./copy-sources.ts"
import { type Layer, saveLayer } from "./layers.ts"
import { type Command, type Machine, startMachine } from "./machine.ts"
import { createStageRoot } from "./roots.ts"
import { changes, workdirOf } from "./settings-steps.ts"
import { tarOf } from "./tar-entries.ts"
import type { BuildContext, Built, StageBase } from "./types.ts"

/** An empty layer is none: two blocks of zeros. */
const EMPTY_DIFF = "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"
const HISTORY_LENGTH_MAX = 2_000

const flagOf = ({ flags }: Instruction, name: string) => flags.find(([each]) => each === name)?.[1]

const known = {
  COPY: new Set(["from", "chown", "chmod", "link", "exclude"]),
  ADD: new Set(["chown", "chmod", "link", "checksum", "exclude"]),
  RUN: new Set(["mount", "network", "security"]),
} as const

export const runStage = async (
  context: BuildContext,
  dockerfile: Dockerfile,
  stage: Stage,
  base: StageBase,
  folder: string,
): Promise<Built> => {
  const { escaping } = dockerfile
  const { signal, tenant, now } = context
  const root = createStageRoot(folder, { layers: base.layers, like: base.like?.root }, context.unpack, signal)
  const layers: Layer[] = [...base.layers]
  const args = new Map<string, string>()
  let state: ImageState = base.like
    ? { ...base.like.state, hasOwnCmd: false }
    : { ...emptyState, ...stateOf(base.document) }
  let chain = keyOf(base.digest)
  let machine: Machine | undefined

  const variables: Variables = name => state.env.get(name) ?? args.get(name)
  const fail = (instruction: Instruction, reason: string) =>
    new BuildError(`Dockerfile line ${instruction.line}: ${reason}`)

  const stopMachine = async () => {
    const running = machine
    machine = undefined
    await running?.[Symbol.asyncDispose]()
  }

  /** The image so far as files; what runs in it must have ended. */
  const files = async (): Promise<string> => {
    await stopMachine()
    return await root.directory()
  }

  const note = (instruction: Instruction, isEmpty: boolean) => {
    const text = `${instruction.keyword} ${instruction.text}`
    const entry = {
      created: new Date(now()).toISOString(),
      created_by: context.mask(text).slice(0, HISTORY_LENGTH_MAX),
      ...(isEmpty && { empty_layer: true }),
    }
    state = { ...state, history: [...state.history, entry] }
  }

  /** The layer of a step, from an earlier build or made now. */
  const layered = async (instruction: Instruction, key: string, make: () => Promise<Layer>) => {
    chain = key
    const kept = context.noCache ? undefined : await context.cache.find(tenant.projectId, key)
    if (kept !== undefined) context.cached()
    const made = kept === undefined ? await make() : kept
    const layer = made?.diffId === EMPTY_DIFF ? null : made
    if (kept === undefined) await context.cache.keep(tenant.projectId, key, layer)
    note(instruction, layer === null)
    if (!layer) return
    layers.push(layer)
    root.add(layer)
  }

  const save = (tar: AsyncIterable<Uint8Array>) =>
    saveLayer(tar, context.layersAt, { bytesMax: context.machine.settings.diskBytes, signal })

  const checkFlags = (instruction: Instruction, keyword: keyof typeof known) => {
    const unknown = instruction.flags.find(([name]) => !known[keyword].has(name))
    if (unknown) throw fail(instruction, `${keyword} --${unknown[0]} is not known here`)
  }

  const commandOf = (instruction: Instruction): { argv: readonly string[]; input: string } => {
    const { json, text, heredocs } = instruction
    if (json) return { argv: json, input: "" }
    const shell = state.shell ?? SHELL_DEFAULT
    const [first] = heredocs
    if (first && /^<<-?(["']?)[A-Za-z0-9_.]+\1$/.test(text)) {
      const interpreter = /^#!\s*(\S.*)/.exec(first.text)?.[1]
      return interpreter === undefined
        ? { argv: [...shell, first.text], input: "" }
        : { argv: [...interpreter.trim().split(/\s+/), "/dev/stdin"], input: first.text }
    }
    const script = [text, ...heredocs.map(each => `${each.text}${each.name}`)].join("\n")
    return { argv: [...shell, script], input: "" }
  }

  const mountsOf = (instruction: Instruction): string[] =>
    instruction.flags.flatMap(([name, value]) => {
      if (name === "network" && value !== "default")
        throw fail(instruction, "steps have the network of sandboxes; `--network` cannot change it")
      if (name !== "mount") return []
      const fields = new Map(
        value.split(",").map(field => {
          const [name = "", text = "true"] = field.split("=", 2)
          return [name, text] as const
        }),
      )
      const type = fields.get("type") ?? "bind"
      if (type === "secret" && fields.get("required") !== "true") return []
      if (type !== "cache" && type !== "tmpfs")
        throw fail(instruction, `\`--mount=type=${type}\` is not known here`)
      const target = fields.get("target") ?? fields.get("dst") ?? fields.get("destination")
      if (target === undefined) throw fail(instruction, "the mount has no target")
      return [workdirOf(state, expand(target, variables, escaping))]
    })

  const runStep = async (instruction: Instruction) => {
    checkFlags(instruction, "RUN")
    const { argv, input } = commandOf(instruction)
    const [program = "", ...rest] = argv
    const leftOut = mountsOf(instruction)
    const env = { PATH: PATH_DEFAULT, ...Object.fromEntries(args), ...Object.fromEntries(state.env) }
    const { user, workdir } = state
    const key = keyOf(chain, "RUN", argv, input, env, user, workdir, leftOut)
    await layered(instruction, key, async () => {
      // A name of a user may be new since the machine began.
      const isNamed = user !== "" && user !== "root" && !/^\d+(:\d+)?$/.test(user)
      const needsFiles = isNamed || machine === undefined
      const at = needsFiles ? await files() : ""
      const owner = user === "" ? { uid: 0, gid: 0 } : await ownerOf(at, user, "own group")
      machine ??= await startMachine(context.machine, at)
      const command: Command = {
        ...{ argv: [program, ...rest], cwd: workdir || "/", env, owner, input, leftOut },
      }
      try {
        return await machine.run(command, context.print, signal, save)
      } catch (error) {
        await stopMachine()
        throw error
      }
    })
  }

  const copyStep = async (instruction: Instruction) => {
    const keyword = instruction.keyword === "ADD" ? "ADD" : "COPY"
    checkFlags(instruction, keyword)
    const from = flagOf(instruction, "from")
    const tree = from === undefined ? context.tree : await context.treeOf(expand(from, variables, escaping))
    const excluded = instruction.flags.filter(([name]) => name === "exclude").map(([, value]) => value)
    const work = join(folder, `copy-${instruction.line}`)
    await mkdir(work, { recursive: true })
    const sources = await findSources(instruction, {
      ...{ variables, escaping, folder: work, fetcher: context.fetcher },
      tree: excluded.length === 0 ? tree : withoutNames(tree, excluded),
    })
    const chown = flagOf(instruction, "chown")
    const owner = chown === undefined ? undefined : expand(chown, variables, escaping)
    const chmod = flagOf(instruction, "chmod")
    if (chmod !== undefined && !/^[0-7]{3,4}$/.test(chmod))
      throw fail(instruction, `${chmod.slice(0, 20)} is no mode such as 0755`)
    const key = keyOf(chain, keyword, sources.hash, sources.to, state.workdir, owner, chmod, excluded)
    await layered(instruction, key, async () => {
      const at = await files()
      const options = {
        owner: owner === undefined ? undefined : await ownerOf(at, owner, "same number"),
        mode: chmod === undefined ? undefined : Number.parseInt(chmod, 8),
      }
      return await save(tarOf(copyEntries(at, state.workdir, sources, options, new Date(now()))))
    })
  }

  const workdirStep = async (instruction: Instruction) => {
    const path = workdirOf(state, expand(instruction.text, variables, escaping))
    state = { ...state, workdir: path }
    await layered(instruction, keyOf(chain, "WORKDIR", path), async () => {
      const at = await files()
      return await save(tarOf(workdirEntries(at, path, new Date(now()))))
    })
  }

  const argStep = (instruction: Instruction) => {
    for (const word of words(instruction.text, variables, escaping)) {
      const at = word.indexOf("=")
      const name = at < 0 ? word : word.slice(0, at)
      const value =
        context.args.get(name) ?? (at < 0 ? undefined : word.slice(at + 1)) ?? context.globals.get(name)
      if (value !== undefined) args.set(name, value)
    }
    note(instruction, true)
  }

  const perform = async (instruction: Instruction) => {
    signal.throwIfAborted()
    context.step(`${instruction.keyword} ${instruction.text}`)
    const { keyword } = instruction
    if (keyword === "RUN") return await runStep(instruction)
    if (keyword === "COPY" || keyword === "ADD") return await copyStep(instruction)
    if (keyword === "WORKDIR") return await workdirStep(instruction)
    if (keyword === "ARG") return argStep(instruction)
    const change = changes[keyword]
    if (!change) throw fail(instruction, `${keyword} is not known here`)
    state = change(state, instruction, { escaping, variables })
    const { history, env, labels, ...said } = state
    chain = keyOf(chain, [...env], [...labels], said)
    note(instruction, true)
  }

  try {
    const triggers = state.onBuild
    state = { ...state, onBuild: [] }
    for (const instruction of [...context.triggers(triggers), ...stage.instructions])
      await perform(instruction)
  } finally {
    await stopMachine()
  }
  return { state, layers, root, chain }
}

const withoutNames = (tree: Tree, patterns: readonly string[]): Tree => {
  const excluded = readIgnore(patterns.join("\n"))
  return { ...tree, isLeftOut: path => tree.isLeftOut(path) || excluded(path) }
}
