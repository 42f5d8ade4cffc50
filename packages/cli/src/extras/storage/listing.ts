import type { Svc } from "@svc/sdk"
import type { Remote } from "./address.ts"

type Page = Awaited<ReturnType<Svc["storage"]["listObjects"]>>
export type Listed = Page["data"][number]

const PAGE = 1000

/** All objects under a prefix; with a delimiter, one level of them. */
export async function* pages(
  svc: Svc,
  { bucket, key }: Pick<Remote, "bucket" | "key">,
  delimiter?: string,
): AsyncGenerator<Page> {
  let cursor: string | null = null
  do {
    const page: Page = await svc.storage.listObjects({
      bucket,
      limit: PAGE,
      ...(key !== "" && { prefix: key }),
      ...(delimiter !== undefined && { delimiter }),
      ...(cursor !== null && { cursor }),
    })
    yield page
    cursor = page.cursor
  } while (cursor !== null)
}

export async function* objects(svc: Svc, place: Pick<Remote, "bucket" | "key">): AsyncGenerator<Listed> {
  for await (const { data } of pages(svc, place)) yield* data
}
