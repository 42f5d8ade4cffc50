/** The frame around every page: bar, navigation, drawer, dialogs; and which page an address is. */
import { lazy, Suspense, useEffect, useRef, useState } from "react"
import { titleOf } from "../derived/labels.ts"
import { areaOf, operationOf } from "../derived/manifest.ts"
import { OperationPage } from "../derived/page.tsx"
import type { AreaRow, OperationRow } from "../model.ts"
import { followLink, href, type Place, usePlace } from "../router.ts"
import { type Screen, screenOf } from "../screens/screens.ts"
import {
  chooseOrganization,
  chooseProject,
  type Project,
  projectIn,
  type Session,
  session,
  signOut,
} from "../session.ts"
import { AreaPage } from "./area-page.tsx"
import { Drawer } from "./drawer.tsx"
import { Mark } from "./mark.tsx"
import { type Current, Nav } from "./nav.tsx"
import { Overview } from "./overview.tsx"
import { Palette } from "./palette.tsx"
import { Questions, SignInPage } from "./sign-in.tsx"
import { ThemeButton } from "./theme-button.tsx"

type Page =
  | { readonly kind: "overview" }
  | { readonly kind: "screen"; readonly screen: Screen }
  | { readonly kind: "area"; readonly area: AreaRow }
  | { readonly kind: "operation"; readonly operation: OperationRow }
  | { readonly kind: "unknown" }

const pageOf = ({ path }: Place): Page => {
  if (path === "") return { kind: "overview" }
  const screen = screenOf(path)
  if (screen) return { kind: "screen", screen }
  const [kind, name = "", ...more] = path.split("/")
  const area = kind === "areas" && more.length === 0 ? areaOf(name) : undefined
  if (area) return { kind: "area", area }
  const operation = kind === "api" && more.length === 0 ? operationOf(name) : undefined
  return operation ? { kind: "operation", operation } : { kind: "unknown" }
}

const currentOf = (page: Page): Current => {
  if (page.kind === "overview") return "overview"
  if (page.kind === "area" || page.kind === "screen") return page
  return page.kind === "operation" ? { area: page.operation.area } : undefined
}

const titleOfPage = (page: Page): string => {
  if (page.kind === "overview") return "Overview"
  if (page.kind === "screen") return page.screen.title
  if (page.kind === "area") return page.area.title
  return page.kind === "operation" ? titleOf(page.operation.summary) : "Not found"
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** Control+K or Command+K opens the palette, a backquote the requests. */
const useKeys = (openPalette: () => void, toggleDrawer: () => void) => {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault()
        openPalette()
      } else if (event.key === "`" && !isTyping(event.target)) toggleDrawer()
    }
    document.addEventListener("keydown", onKey)
    return () => document.removeEventListener("keydown", onKey)
  })
}

const Switchers = ({
  known,
  project,
}: {
  readonly known: Session
  readonly project: Project | undefined
}) => (
  <div className="switchers">
    {known.organizations.length > 1 ? (
      <select
        aria-label="Organization"
        value={known.organization.id}
        onChange={event => chooseOrganization(event.target.value)}
      >
        {known.organizations.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    ) : (
      <span className="where">{known.organization.name}</span>
    )}
    {known.projects.length > 0 && (
      <select
        aria-label="Project"
        value={project?.id ?? ""}
        onChange={event => chooseProject(event.target.value)}
      >
        {known.projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    )}
  </div>
)

const Person = ({ known }: { readonly known: Session }) => (
  <details className="person">
    <summary>{known.user.name || known.user.email}</summary>
    <div className="menu">
      <p className="soft small">{known.user.email}</p>
      <ThemeButton />
      <a href={href("api/listAccountSessions")}>Sessions</a>
      <button type="button" className="quiet" onClick={() => void signOut()}>
        Sign out
      </button>
    </div>
  </details>
)

const Crumbs = ({ page }: { readonly page: Page }) =>
  page.kind === "operation" ? (
    <nav className="crumbs" aria-label="Path">
      <a href={href("")}>Overview</a> <span aria-hidden="true">/</span>{" "}
      <a href={href(`areas/${page.operation.area.name}`)}>{page.operation.area.title}</a>
    </nav>
  ) : null

const PageView = ({
  page,
  place,
  known,
  project,
}: {
  readonly page: Page
  readonly place: Place
  readonly known: Session
  readonly project: Project | undefined
}) => {
  if (page.kind === "overview")
    return <Overview key={known.organization.id} session={known} project={project} />
  if (page.kind === "screen") {
    const surroundings = { organization: known.organization.id, project: project?.id }
    return (
      <Suspense fallback={<p className="soft">Loading …</p>}>
        <page.screen.Page
          key={`${surroundings.organization} ${surroundings.project}`}
          session={known}
          surroundings={surroundings}
          query={place.query}
        />
      </Suspense>
    )
  }
  if (page.kind === "area") return <AreaPage area={page.area} />
  if (page.kind === "operation")
    return (
      <OperationPage
        key={page.operation.id}
        operation={page.operation}
        query={place.query}
        session={known}
        project={project?.id}
      />
    )
  return (
    <>
      <h1>Not found</h1>
      <p>
        Nothing has this address. <a href={href("")}>Overview</a>
      </p>
    </>
  )
}

const Frame = ({ known }: { readonly known: Session }) => {
  const place = usePlace()
  const page = pageOf(place)
  const project = projectIn(known, place.query)
  const [hasPalette, setPalette] = useState(false)
  const [hasDrawer, setDrawer] = useState(false)
  const [hasNav, setNav] = useState(false)
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useKeys(
    () => setPalette(true),
    () => setDrawer(open => !open),
  )
  const title = titleOfPage(page)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page, by its path, takes the focus
  useEffect(() => {
    document.title = `${title} · Svc`
    setNav(false)
    // The first page is read from its beginning; later ones begin where the new text is.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
  }, [place.path])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: links inside have the keys
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link that is pressed by the keyboard is clicked
    <div className={`frame${hasNav ? " with-nav" : ""}`} onClick={followLink}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="bar">
        <button
          type="button"
          className="quiet nav-button"
          aria-expanded={hasNav}
          onClick={() => setNav(!hasNav)}
        >
          Menu
        </button>
        <a className="brand" href={href("")}>
          <Mark /> <span>Svc</span>
        </a>
        <Switchers known={known} project={project} />
        <button
          type="button"
          className="quiet find"
          aria-keyshortcuts="Control+K Meta+K"
          onClick={() => setPalette(true)}
        >
          Find <kbd>Ctrl K</kbd>
        </button>
        <button
          type="button"
          className="quiet"
          aria-expanded={hasDrawer}
          onClick={() => setDrawer(!hasDrawer)}
        >
          Requests
        </button>
        <Person known={known} />
      </header>
      <div className="side">
        <Nav current={currentOf(page)} />
      </div>
      <main id="main" tabIndex={-1} ref={main} className={page.kind === "screen" ? "full" : undefined}>
        <Crumbs page={page} />
        <PageView {...{ page, place, known, project }} />
      </main>
      {hasDrawer && <Drawer onClose={() => setDrawer(false)} />}
      {hasPalette && <Palette onClose={() => setPalette(false)} />}
      <Questions />
    </div>
  )
}

const FirstPage = lazy(async () => ({ default: (await import("./first.tsx")).FirstPage }))

export const App = () => {
  const known = session.use()
  const isFirst = usePlace().path === "first"
  useEffect(() => {
    if (known === null || isFirst) document.title = "Sign in · Svc"
  }, [known, isFirst])
  if (isFirst)
    return (
      <Suspense fallback={<p className="starting">Loading …</p>}>
        <FirstPage />
      </Suspense>
    )
  if (known === undefined) return <p className="starting">Loading …</p>
  return known === null ? <SignInPage /> : <Frame known={known} />
}
