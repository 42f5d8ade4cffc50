/** Valid inputs of the operations of compliance, for the tests that hold for every operation. */
import { organizationId, type Sample, type SampleWorld } from "../../../testing/sample-world.ts"

/** Whom nothing is stored of. */
const subject = { type: "end_user", email: "nobody@example.com" } as const

const newRequest = async ({ wide }: SampleWorld) => ({
  id: (await wide.compliance.createRequest({ kind: "rectification", subject })).id,
})

const ofNobody = async (world: SampleWorld) => ({ tenant_id: await organizationId(world), subject })

/** One whose archive is there. */
const newArchive = async (world: SampleWorld) => {
  const input = await ofNobody(world)
  for (;;) {
    const { request, download_url } = await world.wide.compliance.gdprExport(input)
    if (download_url !== null) return { id: request.id }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

export const samples = {
  "compliance.createRequest": async () => ({ kind: "access", subject }),
  "compliance.getRequest": newRequest,
  "compliance.updateRequestStatus": async world => ({ ...(await newRequest(world)), status: "in_progress" }),
  "compliance.downloadArchive": newArchive,
  "compliance.gdprExport": ofNobody,
  "compliance.gdprDelete": ofNobody,
  "compliance.gdprCorrect": async world => ({
    ...(await ofNobody(world)),
    corrections: [{ field: "name", value: "Nobody" }],
  }),
  "compliance.getConsent": async world => ({ tenant_id: await organizationId(world) }),
  "compliance.updateConsent": async world => ({
    tenant_id: await organizationId(world),
    consents: { analytics: true },
  }),
} satisfies Readonly<Record<string, Sample>>
