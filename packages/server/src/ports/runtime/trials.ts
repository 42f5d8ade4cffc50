import type { RuntimeCapabilities } from "./port.ts"

/** What became of opening a driver: what it can do here, or why it does not work and what it takes. */
export type RuntimeTrial =
  | { readonly driver: string; readonly found: RuntimeCapabilities }
  | { readonly driver: string; readonly found: string; readonly packages: readonly string[] }

const linesOf = (trial: RuntimeTrial): readonly string[] => {
  const name = trial.driver.padEnd(12)
  const below = " ".repeat(14)
  if (!("packages" in trial)) {
    const { isolation, reasons } = trial.found
    return [`  ${name}works; isolation ${isolation}`, ...reasons.map(reason => `${below}${reason}`)]
  }
  const first = `  ${name}does not work: ${trial.found}`
  if (trial.packages.length === 0) return [first]
  return [
    first,
    `${below}on Debian and Ubuntu: npm run host -- ${trial.driver} (packages: ${trial.packages.join(", ")})`,
  ]
}

/** For people. `chosen` is what a platform with these settings takes. */
export const renderTrials = (
  trials: readonly RuntimeTrial[],
  { demand, chosen }: { readonly demand: string; readonly chosen: RuntimeCapabilities },
): string => {
  const { driver, isolation, reasons } = chosen
  return [
    "What can run sandboxes, computers and functions here, strongest first:",
    ...trials.flatMap(linesOf),
    "",
    driver === "none"
      ? `With SVC_RUNTIME=${demand} nothing runs them: ${reasons.join("; ")}`
      : `With SVC_RUNTIME=${demand}, ${driver} runs them (isolation ${isolation}).`,
  ].join("\n")
}
