import { defineConfig } from "vite";

export default defineConfig({
  // The console lives below a stage's prefix, so every address in it is relative.
  base: "./",
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // The Content-Security-Policy allows neither `data:` addresses nor inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: ["index.html", "chat.html"] },
  },
});
