"""The view: a scene as a browser page, a served live page, pictures, movies and POV-Ray files."""

from jourdain.view.camera import default_camera
from jourdain.view.explore import Explorer, explore
from jourdain.view.live import watch
from jourdain.view.page import Inline, page_html, save_page
from jourdain.view.picture import save_movie, save_picture
from jourdain.view.play import play
from jourdain.view.povray import povray_scene, save_povray
from jourdain.view.scene import Arrow, Body, Camera, Channel, Frame, Joint, Link, Mode, Plot, Point, Run, Scene, Track
from jourdain.view.scenes.from_solution import model_scene, scene_of, scene_of_modes, state_scene
from jourdain.view.server import Server, serve
from jourdain.view.shape import Shape
from jourdain.view.vibration import vibration

__all__ = [
    "Arrow",
    "Body",
    "Camera",
    "Channel",
    "Explorer",
    "Frame",
    "Inline",
    "Joint",
    "Link",
    "Mode",
    "Plot",
    "Point",
    "Run",
    "Scene",
    "Server",
    "Shape",
    "Track",
    "default_camera",
    "explore",
    "model_scene",
    "page_html",
    "play",
    "povray_scene",
    "save_movie",
    "save_page",
    "save_picture",
    "save_povray",
    "scene_of",
    "scene_of_modes",
    "serve",
    "state_scene",
    "vibration",
    "watch",
]
