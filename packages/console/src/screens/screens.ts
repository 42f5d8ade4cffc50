/** The pages that were made by hand, each loaded when it is opened. */
import { type ComponentType, type LazyExoticComponent, lazy } from "react"
import type { ScreenProps } from "./props.ts"

export interface Screen {
  readonly path: string
  readonly title: string
  /** Heading of the navigation. */
  readonly group: string
  /** What else somebody may look for. */
  readonly words: string
  readonly Page: LazyExoticComponent<ComponentType<ScreenProps>>
}

type Loader = () => Promise<ComponentType<ScreenProps>>

const screen = (path: string, title: string, group: string, words: string, load: Loader): Screen => ({
  path,
  title,
  group,
  words,
  Page: lazy(async () => ({ default: await load() })),
})

export const screens: readonly Screen[] = [
  screen(
    "sql",
    "SQL editor",
    "Data",
    "query run statement explain",
    async () => (await import("./sql/page.tsx")).SqlPage,
  ),
  screen(
    "tables",
    "Tables",
    "Data",
    "rows browse edit insert filter database",
    async () => (await import("./tables/page.tsx")).TablesPage,
  ),
  screen(
    "files",
    "Files",
    "Data",
    "storage buckets objects upload download signed link",
    async () => (await import("./storage/page.tsx")).FilesPage,
  ),
  screen(
    "mailbox",
    "Mailbox",
    "Messages",
    "email inbox captured mail html",
    async () => (await import("./mail/page.tsx")).MailboxPage,
  ),
  screen(
    "playground",
    "AI playground",
    "Intelligence",
    "chat model ask compare",
    async () => (await import("./ai/page.tsx")).PlaygroundPage,
  ),
  screen(
    "keys",
    "Keys",
    "Organization",
    "api keys tokens secret scopes rotate revoke",
    async () => (await import("./keys/page.tsx")).KeysPage,
  ),
  screen(
    "usage",
    "Usage and billing",
    "Organization",
    "meters plan cost credit invoices cap money",
    async () => (await import("./usage/page.tsx")).UsagePage,
  ),
  screen(
    "approvals",
    "Approvals",
    "Organization",
    "inbox approve reject agents wait",
    async () => (await import("./approvals/page.tsx")).ApprovalsPage,
  ),
]

export const screenOf = (path: string): Screen | undefined => screens.find(screen => screen.path === path)
