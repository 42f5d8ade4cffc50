/** Valid inputs of the operations of integrations, for the tests that hold for every operation. */

import { uniqueName } from "../../../testing/platform.ts"
import type { Sample, SampleWorld, Unsampled } from "../../../testing/sample-world.ts"
import { githubPush } from "./hooks.ts"

const newIntegration = async ({ key }: SampleWorld) =>
  (await key.integrations.create({ provider: "github", repository: `acme/${uniqueName()}` })).id

/** An event that GitHub told. */
const newGitEvent = async ({ platform, key }: SampleWorld) => {
  const repository = `acme/${uniqueName()}`
  const { id, webhook_secret = "" } = await key.integrations.create({ provider: "github", repository })
  const { headers, body } = githubPush(webhook_secret, { repository })
  const response = await platform.request(`/hooks/vcs/${id}`, { method: "POST", headers, body })
  const { data } = (await response.json()) as { data: { event_id: string } }
  return { id, event_id: data.event_id }
}

export const samples = {
  "integrations.create": async () => ({ provider: "github", repository: `acme/${uniqueName()}` }),
  "integrations.get": async world => ({ id: await newIntegration(world) }),
  "integrations.update": async world => ({ id: await newIntegration(world), preview: true }),
  "integrations.delete": async world => ({ id: await newIntegration(world) }),
  "integrations.rotateSecret": async world => ({ id: await newIntegration(world) }),
  "integrations.test": async world => ({ id: await newIntegration(world) }),
  "integrations.events": async world => ({ id: await newIntegration(world) }),
  "integrations.replayEvent": newGitEvent,
} satisfies Readonly<Record<string, Sample>>

export const unsampled = {
  "integrations.putCredentials":
    "names a provider that all tenants share; areas/integrations/accounts.test.ts has it",
  "integrations.deleteCredentials":
    "names a provider that all tenants share; areas/integrations/accounts.test.ts has it",
  "integrations.linkInstallation": "asks GitHub; areas/integrations/accounts.test.ts has it",
  "integrations.unlinkInstallation": "needs what GitHub shows; areas/integrations/accounts.test.ts has it",
  "integrations.createInstallationToken": "asks GitHub; areas/integrations/accounts.test.ts has it",
  "integrations.receive": "public: there is no caller yet to remember an Idempotency-Key for",
} satisfies Unsampled
