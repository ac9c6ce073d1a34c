"""Who touches whom, and where: shapes on bodies, pairs of neighbours, contact points with normals and gaps.

:class:`Scene` holds the shapes; :meth:`Scene.contacts` answers in Python, :func:`collide` inside native code; :func:`collide_ahead` and
:func:`time_of_impact` look ahead of bodies that move.  A *broad phase* finds shapes whose
boxes meet (:mod:`.broad`); a *narrow phase* looks at each such pair (:mod:`.meetings`): closed forms for round shapes, separating axes for boxes, distances
by Gilbert, Johnson and Keerthi and depths by expanding polytopes for other convex shapes, triangles for surfaces.  Sources: Ericson, *Real-Time
Collision Detection* (2005); van den Bergen, *Collision Detection in Interactive 3D Environments* (2003).
"""

from .ahead import collide_ahead, time_of_impact
from .records import Contact
from .scene import Placed, Scene
from .search import collide

__all__ = ["Contact", "Placed", "Scene", "collide", "collide_ahead", "time_of_impact"]
