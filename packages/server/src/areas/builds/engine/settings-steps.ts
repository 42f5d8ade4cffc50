/** Instructions that change what an image says, and none of its files. */
import { posix } from "node:path"
import { BuildError } from "../build-error.ts"
import type { Instruction } from "../dockerfile/parse.ts"
import { expand, type Variables, words } from "../dockerfile/words.ts"
import { type Health, type ImageState, SHELL_DEFAULT } from "./config.ts"

export interface Reading {
  readonly escaping: string
  readonly variables: Variables
}

type Change = (state: ImageState, instruction: Instruction, reading: Reading) => ImageState

const fail = ({ line, keyword }: Instruction, reason: string) =>
  new BuildError(`Dockerfile line ${line}: ${keyword} ${reason}`)

/** `NAME=value …`, or `NAME value` with all that follows. */
export const pairsOf = (
  instruction: Instruction,
  { escaping, variables }: Reading,
): (readonly [string, string])[] => {
  const { text } = instruction
  const [first = ""] = text.split(/\s/, 1)
  if (!first.includes("=")) {
    const value = text.slice(first.length).trim()
    if (value === "") throw fail(instruction, "takes a name and a value")
    return [[expand(first, variables, escaping), expand(value, variables, escaping)]]
  }
  return words(text, variables, escaping).map(word => {
    const at = word.indexOf("=")
    if (at < 1) throw fail(instruction, `has ${word.slice(0, 100)}, which is not \`name=value\``)
    return [word.slice(0, at), word.slice(at + 1)]
  })
}

const commandOf = (state: ImageState, { json, text }: Instruction): readonly string[] =>
  json ?? [...(state.shell ?? SHELL_DEFAULT), text]

const one: (reading: Reading, text: string) => string = ({ variables, escaping }, text) =>
  expand(text, variables, escaping)

export const workdirOf = (state: ImageState, to: string): string => posix.resolve("/", state.workdir, to)

const DURATION = /(\d+(?:\.\d+)?)(h|ms|us|ns|m|s)/g
const NANOSECONDS = { h: 3.6e12, m: 6e10, s: 1e9, ms: 1e6, us: 1e3, ns: 1 } as const

const durationOf = (instruction: Instruction, text: string): number => {
  const parts = [...text.matchAll(DURATION)]
  if (parts.map(([whole]) => whole).join("") !== text || text === "")
    throw fail(instruction, `has ${text.slice(0, 40)}, which is no time such as 30s`)
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * NANOSECONDS[unit as "s"], 0))
}

const healthOf = (state: ImageState, instruction: Instruction): Health => {
  if (/^none$/i.test(instruction.text)) return { Test: ["NONE"] }
  const rest = /^CMD\s+([\s\S]+)$/i.exec(instruction.text)?.[1]
  if (rest === undefined) throw fail(instruction, "is `HEALTHCHECK CMD …` or `HEALTHCHECK NONE`")
  const flag = (name: string) => instruction.flags.find(([each]) => each === name)?.[1]
  const time = (name: string, field: string) => {
    const text = flag(name)
    return text === undefined ? {} : { [field]: durationOf(instruction, text) }
  }
  const retries = flag("retries")
  let json: unknown
  try {
    json = rest.startsWith("[") ? JSON.parse(rest) : undefined
  } catch {
    // A shell's `[`.
  }
  const shell = state.shell ? [...state.shell] : undefined
  const plain = shell ? ["CMD", ...shell, rest] : ["CMD-SHELL", rest]
  return {
    Test: Array.isArray(json) ? ["CMD", ...json.map(String)] : plain,
    ...time("interval", "Interval"),
    ...time("timeout", "Timeout"),
    ...time("start-period", "StartPeriod"),
    ...(retries !== undefined && { Retries: Number(retries) }),
  }
}

const added = (known: readonly string[], more: readonly string[]) => [...new Set([...known, ...more])]

const portsOf = (instruction: Instruction, reading: Reading): string[] =>
  words(instruction.text, reading.variables, reading.escaping).flatMap(word => {
    const [, from = "", to = from, protocol = "tcp"] =
      /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp|sctp))?$/i.exec(word) ?? []
    const [low, high] = [Number(from), Number(to)]
    if (from === "" || low < 1 || high > 65_535 || high < low)
      throw fail(instruction, `has ${word.slice(0, 40)}, which is no port`)
    return Array.from({ length: high - low + 1 }, (_, at) => `${low + at}/${protocol.toLowerCase()}`)
  })

export const changes: Readonly<Record<string, Change>> = {
  ENV: (state, instruction, reading) => {
    const env = new Map(state.env)
    for (const [name, value] of pairsOf(instruction, reading)) env.set(name, value)
    return { ...state, env }
  },
  LABEL: (state, instruction, reading) => {
    const labels = new Map(state.labels)
    for (const [name, value] of pairsOf(instruction, reading)) labels.set(name, value)
    return { ...state, labels }
  },
  MAINTAINER: state => state,
  CMD: (state, instruction) => ({
    ...state,
    cmd: commandOf(state, instruction),
    hasOwnCmd: true,
  }),
  // The base's command was meant for another entry point.
  ENTRYPOINT: (state, instruction) => ({
    ...state,
    entrypoint: commandOf(state, instruction),
    cmd: state.hasOwnCmd ? state.cmd : null,
  }),
  EXPOSE: (state, instruction, reading) => ({
    ...state,
    ports: added(state.ports, portsOf(instruction, reading)),
  }),
  VOLUME: (state, instruction, reading) => ({
    ...state,
    volumes: added(
      state.volumes,
      instruction.json ?? words(instruction.text, reading.variables, reading.escaping),
    ),
  }),
  USER: (state, { text }, reading) => ({ ...state, user: one(reading, text) }),
  STOPSIGNAL: (state, { text }, reading) => ({ ...state, stopSignal: one(reading, text) }),
  SHELL: (state, instruction) => {
    if (!instruction.json) throw fail(instruction, "takes a JSON list of words")
    return { ...state, shell: instruction.json }
  },
  HEALTHCHECK: (state, instruction) => ({ ...state, health: healthOf(state, instruction) }),
  ONBUILD: (state, { text }) => ({ ...state, onBuild: [...state.onBuild, text] }),
}
