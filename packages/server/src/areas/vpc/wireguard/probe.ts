/** Which WireGuard this machine has. */
import { constants } from "node:fs"
import { access } from "node:fs/promises"
import { attempt, CommandFailed, command } from "./commands.ts"

export type EngineKind = "kernel" | "wireguard-go"
export type EngineChoice = EngineKind | "auto" | "off"

export interface Probe {
  /** Undefined where none works. */
  readonly kind: EngineKind | undefined
  /** What is missing, a phrase each. */
  readonly reasons: readonly string[]
}

const reasonOf = (error: unknown, program: string, debianPackage: string): string =>
  error instanceof CommandFailed && error.isMissing
    ? `\`${program}\` is not installed (package ${debianPackage})`
    : error instanceof Error
      ? error.message
      : String(error)

const programReasons = async (): Promise<string[]> => {
  const tried = await Promise.all([
    command("ip", ["-V"]).then(
      () => [],
      error => [reasonOf(error, "ip", "iproute2")],
    ),
    command("wg", ["--version"]).then(
      () => [],
      error => [reasonOf(error, "wg", "wireguard-tools")],
    ),
  ])
  return tried.flat()
}

const kernelReason = async (namespace: string): Promise<string | undefined> => {
  try {
    await command("ip", ["-n", namespace, "link", "add", "probe", "type", "wireguard"])
    return undefined
  } catch {
    return "the kernel has no WireGuard"
  }
}

const programReason = async (): Promise<string | undefined> => {
  try {
    await command("wireguard-go", ["--version"])
    await access("/dev/net/tun", constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    return error instanceof CommandFailed
      ? reasonOf(error, "wireguard-go", "wireguard-go")
      : "/dev/net/tun cannot be opened"
  }
}

/** Tries what the operator chose, in a network namespace that is removed again. */
export const probeWireGuard = async (choice: EngineChoice): Promise<Probe> => {
  if (choice === "off") return { kind: undefined, reasons: ["SVC_VPC is off"] }
  const missing = await programReasons()
  if (missing.length > 0) return { kind: undefined, reasons: missing }
  const namespace = `svc-vpc-probe-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
  try {
    await command("ip", ["netns", "add", namespace])
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { kind: undefined, reasons: [`network namespaces take root (${why})`] }
  }
  try {
    const reasons: string[] = []
    if (choice !== "wireguard-go") {
      const reason = await kernelReason(namespace)
      if (reason === undefined) return { kind: "kernel", reasons: [] }
      reasons.push(reason)
    }
    if (choice !== "kernel") {
      const reason = await programReason()
      if (reason === undefined) return { kind: "wireguard-go", reasons }
      reasons.push(reason)
    }
    return { kind: undefined, reasons }
  } finally {
    await attempt("ip", ["netns", "del", namespace])
  }
}
