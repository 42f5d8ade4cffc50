/** Valid inputs of the operations of waf, for the tests that hold for every operation. */
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"

const RULE: Parameters<SampleWorld["key"]["waf"]["createRule"]>[0] = {
  ...{ pattern: "(?i)sqlmap|nikto", action: "block", targets: ["user_agent"] },
}

const newRule = async ({ key }: SampleWorld) => ({ id: (await key.waf.createRule(RULE)).id })

export const samples = {
  "waf.createRule": async () => RULE,
  "waf.updateRule": async world => ({ ...(await newRule(world)), ...RULE, action: "log" }),
  "waf.deleteRule": newRule,
} satisfies Readonly<Record<string, Sample>>
