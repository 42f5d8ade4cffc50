import assert from "node:assert/strict"
import { test } from "node:test"
import { meters } from "./meters.ts"
import { type Bounds, type Plan, planNames, plans, workloadLimits } from "./plans.ts"

const unlimitedAsInfinity = (value: number | null) => value ?? Number.POSITIVE_INFINITY

test("a larger plan never allows less than a smaller one", () => {
  const figures = ({ title: _, included, ...limits }: Plan) => ({ ...limits, ...included })
  for (const [index, name] of planNames.entries()) {
    const smaller = planNames[index - 1]
    if (smaller === undefined) continue
    const before = figures(plans[smaller])
    for (const [figure, value] of Object.entries(figures(plans[name]))) {
      const least = unlimitedAsInfinity(before[figure as keyof typeof before])
      assert.ok(unlimitedAsInfinity(value) >= least, `${name} allows less ${figure} than ${smaller}`)
    }
  }
})

test("the figures of the specification's tables add up", () => {
  const sum = (pick: (plan: Plan) => number | null) =>
    planNames.reduce((total, name) => total + (pick(plans[name]) ?? 0), 0)
  assert.equal(
    sum(plan => plan.requests_per_second),
    20 + 20 + 50 + 100 + 200 + 500 + 1000,
  )
  assert.equal(
    sum(plan => plan.ai_requests_per_day),
    500 + 500,
  )
  assert.equal(
    sum(plan => plan.projects),
    1 + 1 + 5 + 20,
  )
  assert.equal(
    sum(plan => plan.seats),
    1 + 1 + 2 + 5 + 10 + 25,
  )
  assert.equal(
    sum(plan => plan.api_keys),
    1 + 1 + 3 + 5 + 10 + 25,
  )
  assert.equal(
    sum(plan => plan.custom_domains),
    1 + 1 + 3 + 10,
  )
  assert.equal(
    sum(plan => plan.included.email_sends),
    100 + 100 + 5_000 + 25_000 + 100_000 + 500_000,
  )
})

test("every included quota is a meter", () => {
  for (const name of planNames)
    for (const quota of Object.keys(plans[name].included)) assert.ok(Object.hasOwn(meters, quota), quota)
})

test("the bounds of a workload are in order", () => {
  const limits: Record<string, Record<string, Bounds>> = workloadLimits
  for (const [workload, settings] of Object.entries(limits)) {
    for (const [setting, { min = 0, default: usual = min, max }] of Object.entries(settings)) {
      assert.ok(min <= usual && usual <= unlimitedAsInfinity(max), `${workload}.${setting}`)
    }
  }
})
