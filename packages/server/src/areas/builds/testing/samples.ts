import type { OperationName } from "@svc/sdk"
import type { Sample, SampleWorld, Unsampled } from "../../../testing/sample-world.ts"
import { folderOf } from "./world.ts"

const newBuild = async ({ key }: SampleWorld) => {
  const body = folderOf({ Dockerfile: "FROM scratch\nCOPY a /a\n", a: "a" }) as Buffer<ArrayBuffer>
  return { id: (await key.builds.upload({ image_tag: "sample:1" }, { body })).id }
}

export const samples: { readonly [Name in OperationName]?: Sample } = {
  "builds.create": async () => ({ repository: "https://git.example.com/team/web" }),
  "builds.get": newBuild,
  "builds.logs": newBuild,
  "builds.cancel": newBuild,
}

export const unsampled = {
  "builds.upload": "its body is an archive; areas/builds/builds.test.ts has it",
} satisfies Unsampled
