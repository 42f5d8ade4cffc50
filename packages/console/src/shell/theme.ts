/** Runs before the first paint, so that a chosen theme does not flash. A file of its own: the page has no script inside. */
try {
  const theme = localStorage.getItem("svc.theme")
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme
} catch {
  // Without storage the system's theme stays.
}
