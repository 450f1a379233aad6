"""Published claims about key layouts, compared with what runs measured: `keybench compare --claims`."""
